"""Cells: how often a size fell into a time bucket, as parallel arrays or as a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LARGEST_KEY = 2**62


@dataclass(frozen=True, slots=True)
class Cells:
    """`starts_us` and `counts` have shape (cells,), `sizes` shape (axes, cells)."""

    starts_us: Int64Array
    sizes: Int64Array
    counts: Int64Array

    @classmethod
    def joined(cls, parts: Sequence[Cells], axis_count: int) -> Cells:
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(np.zeros(0, np.int64), np.zeros((axis_count, 0), np.int64), np.zeros(0, np.int64))
        return cls(
            np.concatenate([part.starts_us for part in parts]),
            np.concatenate([part.sizes for part in parts], axis=1),
            np.concatenate([part.counts for part in parts]),
        )

    def in_order(self) -> Cells:
        """By size, then by bucket."""
        key = packed(tuple(self.sizes))
        if len(self.counts) < 2:
            return self
        keys = (self.starts_us, *self.sizes[::-1]) if key is None else (self.starts_us, key)
        order = np.lexsort(keys)
        return Cells(self.starts_us[order], self.sizes[:, order], self.counts[order])

    def size_starts(self) -> Mask:
        """Which cells, in order, are the first of their size."""
        is_first = np.zeros(len(self.counts), dtype=bool)
        is_first[:1] = True
        for values in self.sizes:
            is_first[1:] |= values[1:] != values[:-1]
        return is_first

    def merged(self, starts_us: Int64Array) -> Cells:
        """These cells with other bucket starts, still in order; equal neighbours are added up."""
        if not len(self.counts):
            return self
        is_first = self.size_starts()
        is_first[1:] |= starts_us[1:] != starts_us[:-1]
        if is_first.all():
            return Cells(starts_us, self.sizes, self.counts)
        first = np.flatnonzero(is_first)
        return Cells(starts_us[first], self.sizes[:, first], np.add.reduceat(self.counts, first))


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of each size in each bucket, shape (starts, sizes), 0 where there was none.

    `starts_us` has shape (starts,), `sizes` shape (axes, sizes); every start and size is there once.
    """

    starts_us: Int64Array
    sizes: Int64Array
    counts: Int64Array

    def cells(self) -> Cells:
        rows, columns = np.nonzero(self.counts)
        return Cells(self.starts_us[rows], self.sizes[:, columns], self.counts[rows, columns])


def packed(columns: Sequence[Int64Array]) -> Int64Array | None:
    """One number a row that sorts like the columns, None where 62 bits do not hold it."""
    key: Int64Array | None = None
    span = 1
    for values in columns:
        least, largest = (int(values.min()), int(values.max())) if len(values) else (0, 0)
        span *= largest - least + 1
        if span > _LARGEST_KEY:
            return None
        shifted = values - least if least else values
        key = shifted if key is None else key * (largest - least + 1) + shifted
    return key
