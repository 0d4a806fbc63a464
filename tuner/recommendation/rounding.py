"""How numbers are rounded in documents."""

from __future__ import annotations


def rounded(value: float) -> float:
    """Six significant digits: more than any measurement carries, and the same on every machine."""
    return float(f"{value:.6g}")
