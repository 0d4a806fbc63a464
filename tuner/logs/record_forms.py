"""Record forms of other tools, turned into plain rows while they stream past."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def plain_rows(values: Iterator[Any]) -> Iterator[Any]:
    """JSON values as rows; values that no known form claims are rows as they stand."""
    yield from values
