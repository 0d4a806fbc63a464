"""The look that all terminal output shares: tables, bars, sparklines, gains, what is dim and what is loud."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from rich.text import Text

UNKNOWN = "-"
"""Shown where a fact is not known."""

LOUD = "bold"
DIM = "dim"
GOOD = "green"
DOUBT = "yellow"
BAD = "red"

_BAR_PARTS = " ▏▎▍▌▋▊▉█"
_SPARKS = "▁▂▃▄▅▆▇█"


def plain_table(title: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table with a heading line and nothing else drawn; texts on the left, numbers to the right."""
    table = Table(title=title, title_justify="left", title_style=LOUD, box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in texts:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def bar(share: float, width: int = 20) -> str:
    """A bar over a share (0 to 1) of the width, in eighths of a character; any share above 0 is seen."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    eighths = max(eighths, 1) if share > 0 else 0
    return _BAR_PARTS[8] * (eighths // 8) + _BAR_PARTS[eighths % 8].strip()


def sparkline(values: Sequence[float]) -> str:
    """One character a value, as high as its share of the largest; a space for nothing at all."""
    most = max(values, default=0.0)
    if most <= 0:
        return " " * len(values)
    return "".join(_SPARKS[min(7, int(8 * v / most))] if v > 0 else " " for v in values)


def distribution(values: NDArray[Any], weights: NDArray[Any], width: int = 24) -> str:
    """A sparkline of weighted values, arrays of one shape, over the logarithm of the value."""
    logs = np.log(np.maximum(values.astype(np.float64), 0.5))
    low, high = float(logs.min()), float(logs.max())
    if low == high:
        return sparkline([1.0])
    places = np.minimum(width - 1, ((logs - low) / (high - low) * width).astype(np.int64))
    return sparkline(np.bincount(places, weights=weights, minlength=width).tolist())


def gain_text(gain: float | None, interval: Sequence[float] | None = None) -> Text:
    """`+33.9%`, or `+33.9% (29 to 35)` with its interval; green where it is a gain, red where a loss."""
    if gain is None:
        return Text(UNKNOWN, style=DIM)
    between = f" ({100 * interval[0]:.0f} to {100 * interval[1]:.0f})" if interval else ""
    return Text(f"{gain:+.1%}{between}", style=GOOD if gain > 0 else BAD if gain < 0 else "")
