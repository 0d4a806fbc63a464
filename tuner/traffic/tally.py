"""Counts of sizes over time, block by block and mergeable: N tallies merged are one tally of all rows.

Time is kept in buckets whose width is the smallest of `WIDTHS_US` that keeps their number and the memory for
the counts within bounds: a small log keeps every distinct time, a large one keeps a thousand buckets or so,
and memory does not grow with the log. Since a bucket of one width lies inside one bucket of the next, and
the bounds only tighten as rows are added, the result does not depend on their order or on how they were
split.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.traffic.cells import Cells
from tuner.traffic.matrix import CountMatrix, fits_matrix

Int64Array = NDArray[np.int64]

MOST_BUCKETS = 4096
MOST_CELLS = 1 << 18
MOST_MATRIX_CELLS = 1 << 22
"""Bounds: the buckets, and either the cells that are not zero, or buckets times distinct sizes."""

_SECOND, _DAY = 1_000_000, 86_400_000_000
WIDTHS_US = (
    *(1, 2, 10, 20, 100, 200, 1_000, 2_000, 10_000, 20_000, 100_000, 200_000),
    *(n * _SECOND for n in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200)),
    *(_DAY << n for n in range(24)),
)
"""Bucket widths in microseconds; each divides the next, and from a second up all divide a day or are days."""

UNTIMED_TUNE = np.iinfo(np.int64).min
UNTIMED_HOLDOUT = UNTIMED_TUNE + 1
"""In place of a bucket start: rows without a time, by which side of the hash they fell on."""
_LAST_LEVEL = len(WIDTHS_US) - 1


@dataclass(slots=True)
class Tally:
    """Cells (bucket start, size) with their counts; `axes` fixes the order of a size's values.

    Cells are a list until that grows too long, then a matrix of buckets by sizes.
    """

    axes: tuple[str, ...]
    level: int = 0
    _list: list[Cells] = field(default_factory=list)
    _listed: int = 0
    _matrix: CountMatrix | None = None

    @property
    def width_us(self) -> int:
        return WIDTHS_US[self.level]

    @property
    def is_empty(self) -> bool:
        return self._matrix is None and not self._list

    def add(self, cells: Cells) -> None:
        """Add cells whose starts are times, or starts of buckets no wider than those here."""
        if not len(cells.counts):
            return
        if self._matrix is not None and not fits_matrix(cells):
            self._dissolve()
        if self._matrix is not None:
            self._matrix.add(cells, self.bucket_starts(cells.starts_us))
            self._keep_bounds()
            return
        self._list.append(cells)
        self._listed += len(cells.counts)
        if self._listed > 2 * MOST_CELLS:
            self._settle()

    def merge(self, other: Tally) -> None:
        """Add all of another tally, which is not to be used afterwards."""
        if self.is_empty:
            self._list, self._listed, self._matrix = other._list, other._listed, other._matrix
            self.level = max(self.level, other.level)
            return
        self._raise_to(other.level)
        for cells in other._list:
            self.add(cells)
        if other._matrix is not None:
            self.add(other._matrix.cells())

    def cells(self) -> Cells:
        """Each pair of size and bucket once, in order of size, then bucket."""
        if self._matrix is None:
            self._settle()
        parts = self._list if self._matrix is None else [self._matrix.cells()]
        ordered = Cells.joined(parts, len(self.axes)).in_order()
        return ordered.merged(self.bucket_starts(ordered.starts_us))

    def compacted(self) -> Tally:
        """The same counts in as few cells as there can be, which is how they travel between machines."""
        cells = self.cells()
        return Tally(self.axes, self.level, [cells], len(cells.counts))

    def slots(self, times_us: Int64Array) -> tuple[Int64Array, int]:
        """The number of each time's bucket, and the level of buckets that these times need."""
        level = self.level
        slots = times_us // WIDTHS_US[level] if level else times_us
        while level < _LAST_LEVEL and _has_many(slots):
            level += 1
            slots = slots // (WIDTHS_US[level] // WIDTHS_US[level - 1])
        return slots, level

    def bucket_starts(self, times_us: Int64Array) -> Int64Array:
        """The start of the bucket of each time; untimed marks stay."""
        return _starts(times_us, self.level)

    def _raise_to(self, level: int) -> None:
        if level > self.level:
            self.level = level
            if self._matrix is not None:
                self._matrix.rebucket(self.bucket_starts)

    def _settle(self) -> None:
        """Group the list; where it stays too long, widen the buckets and go over to a matrix."""
        if not self._list:
            return
        cells = Cells.joined(self._list, len(self.axes)).in_order()
        self._raise_to(_level_within_bounds(cells, self.level))
        cells = cells.merged(self.bucket_starts(cells.starts_us))
        self._list, self._listed = [cells], len(cells.counts)
        if len(cells.counts) > MOST_CELLS and fits_matrix(cells):
            self._matrix = CountMatrix(len(self.axes))
            self._matrix.add(cells, cells.starts_us)
            self._list, self._listed = [], 0

    def _keep_bounds(self) -> None:
        """Widen the buckets of the matrix, or go back to a list where few of its cells are used."""
        while self._matrix is not None and self.level < _LAST_LEVEL:
            buckets = int((self._matrix.starts_us > UNTIMED_HOLDOUT).sum())
            sizes = self._matrix.size_count
            if buckets <= 1 or (buckets <= MOST_BUCKETS and buckets * sizes <= MOST_MATRIX_CELLS):
                return
            if buckets <= MOST_BUCKETS and self._matrix.used_cell_count() <= MOST_CELLS:
                self._dissolve()
                return
            self._raise_to(self.level + 1)

    def _dissolve(self) -> None:
        assert self._matrix is not None
        cells = self._matrix.cells()
        self._list, self._listed, self._matrix = [cells], len(cells.counts), None


def _starts(times_us: Int64Array, level: int) -> Int64Array:
    if level == 0:
        return times_us
    starts = times_us // WIDTHS_US[level] * WIDTHS_US[level]
    untimed = times_us <= UNTIMED_HOLDOUT
    return np.where(untimed, times_us, starts) if untimed.any() else starts


def _level_within_bounds(cells: Cells, level: int) -> int:
    """The least level from this one up at which the cells (in order) keep the bounds."""
    new_size = cells.size_starts()
    size_count = int(new_size.sum())
    times = np.unique(cells.starts_us)
    times = times[times > UNTIMED_HOLDOUT]
    while level < _LAST_LEVEL:
        times = times // WIDTHS_US[level] * WIDTHS_US[level]
        times = times[np.concatenate([[True], times[1:] != times[:-1]])] if len(times) else times
        bucket_count = len(times)
        if bucket_count <= 1:
            break
        if bucket_count <= MOST_BUCKETS:
            if size_count * bucket_count <= MOST_MATRIX_CELLS or len(cells.counts) <= MOST_CELLS:
                break
            starts = _starts(cells.starts_us, level)
            new_size[1:] |= starts[1:] != starts[:-1]
            if int(new_size.sum()) <= MOST_CELLS:
                break
            new_size = cells.size_starts()
        level += 1
    return level


def _has_many(slots: Int64Array) -> bool:
    """Whether the slots are more different ones than there may be buckets."""
    if int(slots.max()) - int(slots.min()) < MOST_BUCKETS:
        return False
    if (slots[1:] >= slots[:-1]).all():
        return 1 + int((slots[1:] != slots[:-1]).sum()) > MOST_BUCKETS
    return len(np.unique(slots)) > MOST_BUCKETS
