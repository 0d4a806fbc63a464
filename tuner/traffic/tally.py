"""Counts of sizes over time, block by block and mergeable: N tallies merged are one tally of all rows.

A small log keeps every distinct time. One with more pairs of time and size than `MOST_CELLS` keeps time
buckets, of the smallest of `WIDTHS_US` at which neither the buckets in its span nor their product with the
distinct sizes is too large; so memory does not grow with the log. Both conditions only tighten as rows are
added, and a bucket of one width lies inside one of the next: the result does not depend on the order of
rows or on how they were split.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.traffic.cells import Cells, Grid
from tuner.traffic.matrix import CountMatrix

Int64Array = NDArray[np.int64]

MOST_CELLS = 1 << 16
"""Pairs of time and size up to which every time is kept."""
MOST_BUCKETS = 4096
MOST_MATRIX_CELLS = 1 << 20
"""Bounds for larger logs: buckets, and buckets times distinct sizes."""

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
_START_BUCKETS = 256
_LAST_LEVEL = len(WIDTHS_US) - 1


@dataclass(slots=True)
class Tally:
    """Cells (bucket start, size) with their counts; `axes` fixes the order of a size's values.

    Cells are a list until there are many, then a matrix. A tally that starts at a `level` above 0 keeps
    buckets of that width or wider from the start.
    """

    axes: tuple[str, ...]
    level: int = 0
    _list: list[Cells | Grid] = field(default_factory=list, init=False)
    _listed: int = field(default=0, init=False)
    _matrix: CountMatrix | None = field(default=None, init=False)

    @property
    def width_us(self) -> int:
        return WIDTHS_US[self.level]

    def add(self, counts: Cells | Grid) -> None:
        """Add counts whose starts are times, or starts of buckets no wider than those here."""
        listed = int(np.count_nonzero(counts.counts))
        if not listed:
            return
        if self._matrix is not None:
            columns = self._matrix.columns(counts.sizes)
            self._keep_bounds(self._matrix, counts.starts_us)
            self._matrix.add(self.bucket_starts(counts.starts_us), columns, counts.counts)
            return
        self._list.append(counts)
        self._listed += listed
        if self._listed > 2 * MOST_CELLS:
            if self._is_settled():
                self._coarsen(0)
            else:
                self._settle()

    def merge(self, other: Tally) -> None:
        """Add all of another tally, which is not to be used afterwards."""
        if self._matrix is None and not self._listed and self.level <= other.level:
            self.level, self._list, self._listed = other.level, other._list, other._listed
            self._matrix = other._matrix
            return
        if other._matrix is not None or other.level > self.level:
            self._coarsen(other.level)
        if other._matrix is not None:
            self.add(other._matrix.grid())
        for counts in other._list:
            self.add(counts)

    def cells(self) -> Cells:
        """Each pair of size and bucket once, in order of size, then bucket."""
        self._settle()
        if self._matrix is not None:
            return self._matrix.cells()
        return self._listed_cells()

    def compacted(self) -> Tally:
        """The same counts in as few cells as there can be, which is how they travel between machines."""
        small = Tally(self.axes, self.level)
        cells = self.cells()
        small._list.append(cells)
        small._listed = len(cells.counts)
        return small

    def bucket_starts(self, times_us: Int64Array) -> Int64Array:
        """The start of the bucket of each time; untimed marks stay."""
        if self.level == 0:
            return times_us
        starts = times_us // self.width_us * self.width_us
        untimed = times_us <= UNTIMED_HOLDOUT
        return np.where(untimed, times_us, starts) if untimed.any() else starts

    def _is_settled(self) -> bool:
        """Whether the list is one grid of buckets as wide as these: nothing in it comes twice."""
        first = self._list[0]
        if not isinstance(first, Grid) or len(self._list) > 1:
            return False
        return np.array_equal(self.bucket_starts(first.starts_us), first.starts_us)

    def _listed_cells(self) -> Cells:
        parts = [part.cells() if isinstance(part, Grid) else part for part in self._list]
        return Cells.joined(parts, len(self.axes))

    def _settle(self) -> None:
        """Group the list; one that stays too long becomes buckets."""
        if not self._list:
            return
        cells = self._listed_cells().in_order()
        cells = cells.merged(self.bucket_starts(cells.starts_us))
        self._list, self._listed = [cells], len(cells.counts)
        if len(cells.counts) > MOST_CELLS:
            self._coarsen(0)

    def _coarsen(self, level: int) -> None:
        """Keep buckets from now on, at least of this level."""
        if self._matrix is None:
            self._matrix = CountMatrix(len(self.axes))
        if level > self.level:
            self.level = level
            self._matrix.rebucket(self.bucket_starts)
        parts, self._list, self._listed = self._list, [], 0
        for part in parts:
            self.add(part)

    def _keep_bounds(self, matrix: CountMatrix, starts_us: Int64Array) -> None:
        """Widen the buckets until those there are and those to come keep the bounds."""
        starts = np.concatenate([matrix.starts_us, starts_us])
        timed = starts[starts > UNTIMED_HOLDOUT]
        if not len(timed):
            return
        level, first, last = self.level, int(timed.min()), int(timed.max())
        while level < _LAST_LEVEL and not _fits(first, last, WIDTHS_US[level], matrix.size_count):
            level += 1
        if level > self.level:
            self.level = level
            matrix.rebucket(self.bucket_starts)


def level_for(first_us: int, last_us: int) -> int:
    """A level to start a large log at, of which no more is known than its span."""
    levels = range(1, len(WIDTHS_US))
    return next((n for n in levels if (last_us - first_us) // WIDTHS_US[n] < _START_BUCKETS), _LAST_LEVEL)


def _fits(first_us: int, last_us: int, width_us: int, size_count: int) -> bool:
    bucket_count = last_us // width_us - first_us // width_us + 1
    if bucket_count == 1:
        return True
    return bucket_count <= MOST_BUCKETS and bucket_count * size_count <= MOST_MATRIX_CELLS
