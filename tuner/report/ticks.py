"""Places of an axis' values in a chart: one place a value, or one a range where there are too many values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_PLACES = 48
"""More distinct values than these are drawn in ranges of equal ratio."""


@dataclass(frozen=True, slots=True, eq=False)
class Ticks:
    """Place i holds the values from `lows[i]` to `highs[i]`; both rise."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def labels(self) -> list[str]:
        pairs = zip(self.lows.tolist(), self.highs.tolist(), strict=True)
        return [str(low) if low == high else f"{low}-{high}" for low, high in pairs]

    @property
    def is_exact(self) -> bool:
        return bool((self.lows == self.highs).all())

    def places(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each value, which has to be one that the ticks were made of; shape (values,)."""
        return np.searchsorted(self.highs, values).astype(np.int64)

    def position(self, value: float) -> float:
        """Where any value lies between the places, by its logarithm; for ranges that no size touches."""
        middles = np.sqrt(np.maximum(self.lows, 0.5) * np.maximum(self.highs, 0.5))
        inside = (self.lows <= value) & (value <= self.highs)
        if inside.any():
            return float(np.flatnonzero(inside)[0])
        return float(np.interp(np.log(max(value, 0.5)), np.log(middles), np.arange(len(self))))

    def extent(self, low: float, high: float) -> tuple[float, float]:
        """Edges of the frame around the places from `low` to `high`."""
        return self.position(low) - 0.5, self.position(high) + 0.5


def ticks_of(values: Iterable[int], most: int = MOST_PLACES) -> Ticks:
    distinct = np.unique(np.fromiter(values, dtype=np.int64))
    if len(distinct) <= most:
        return Ticks(distinct, distinct)
    edges = np.geomspace(max(0.5, float(distinct[0])), float(distinct[-1]) + 1, most + 1)
    place = np.clip(np.searchsorted(edges, distinct, side="right") - 1, 0, most - 1)
    used = np.unique(place)
    lows = np.array([distinct[place == p].min() for p in used], dtype=np.int64)
    highs = np.array([distinct[place == p].max() for p in used], dtype=np.int64)
    return Ticks(lows, highs)
