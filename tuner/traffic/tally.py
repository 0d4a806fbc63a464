"""Counts of sizes over time, growing row by row and mergeable: N tallies merged are one tally of all rows.

Time is kept in buckets whose width is the smallest of `WIDTHS_US` that keeps their number and the number of
cells within bounds: a small log keeps every distinct time, a large one keeps a few thousand buckets, and
memory does not grow with the log. Since a bucket of one width lies inside one bucket of the next, the result
does not depend on the order of rows or on how they were split.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.traffic.cells import Cells, grouped

Int64Array = NDArray[np.int64]

MOST_BUCKETS = 4096
MOST_CELLS = 1 << 20
_PENDING_CELLS = 1 << 21

_SECOND, _DAY = 1_000_000, 86_400_000_000
WIDTHS_US = (
    *(1, 2, 10, 20, 100, 200, 1_000, 2_000, 10_000, 20_000, 100_000, 200_000),
    *(n * _SECOND for n in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200)),
    *(_DAY << n for n in range(28)),
)
"""Bucket widths in microseconds; each divides the next, and from a second up all divide a day or are days."""

UNTIMED_TUNE = np.iinfo(np.int64).min
UNTIMED_HOLDOUT = UNTIMED_TUNE + 1
"""In place of a bucket start: rows without a time, by which side of the hash they fell on."""
_FIRST_START = UNTIMED_TUNE + 2


@dataclass(slots=True)
class Tally:
    """Cells (bucket start, size) with their counts; `axes` fixes the order of a size's values."""

    axes: tuple[str, ...]
    level: int = 0
    _cells: list[Cells] = field(default_factory=list)
    _pending: int = 0

    @property
    def width_us(self) -> int:
        return WIDTHS_US[self.level]

    def add(self, cells: Cells) -> None:
        """Add cells whose starts are times; they are put in buckets here."""
        if len(cells.counts):
            self._cells.append(cells)
            self._pending += len(cells.counts)
            if self._pending > _PENDING_CELLS:
                self.compact()

    def merge(self, other: Tally) -> None:
        self.level = max(self.level, other.level)
        for cells in other._cells:
            self.add(cells)

    def compact(self) -> Cells:
        """All cells, each pair of bucket and size once, in order; the width grows until the bounds hold."""
        cells = grouped(Cells.joined(self._cells, len(self.axes)), self.bucket_starts)
        while not self._is_within_bounds(cells):
            self.level += 1
            cells = grouped(cells, self.bucket_starts)
        self._cells = [cells]
        self._pending = 0
        return cells

    def slots(self, times_us: Int64Array) -> Int64Array:
        """The number of each time's bucket, after widening the buckets so that these times keep the bounds."""
        slots = times_us // self.width_us if self.level else times_us
        while int(slots.max()) - int(slots.min()) >= MOST_BUCKETS and _distinct_count(slots) > MOST_BUCKETS:
            factor = WIDTHS_US[self.level + 1] // self.width_us
            self.level += 1
            slots = slots // factor
        return slots

    def bucket_starts(self, times_us: Int64Array) -> Int64Array:
        """The start of the bucket of each time; untimed marks stay."""
        if self.level == 0:
            return times_us
        starts = times_us // self.width_us * self.width_us
        untimed = times_us < _FIRST_START
        return np.where(untimed, times_us, starts) if untimed.any() else starts

    def _is_within_bounds(self, cells: Cells) -> bool:
        if self.level == len(WIDTHS_US) - 1:
            return True
        starts = cells.starts_us[cells.starts_us >= _FIRST_START]
        bucket_count = 1 + int((starts[1:] != starts[:-1]).sum()) if len(starts) else 0
        if bucket_count <= 1:
            return True
        return bucket_count <= MOST_BUCKETS and len(cells.counts) <= MOST_CELLS


def _distinct_count(slots: Int64Array) -> int:
    changes = slots[1:] != slots[:-1]
    if (slots[1:] >= slots[:-1]).all():
        return 1 + int(changes.sum())
    return len(np.unique(slots))
