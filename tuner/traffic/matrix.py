"""Counts as a matrix of time buckets by sizes: adding a block to it takes no sorting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.traffic.cells import Cells

Int64Array = NDArray[np.int64]

_KEY_BITS = 62


def fits_matrix(cells: Cells) -> bool:
    """Whether a size's values fit into one 62-bit key, each axis having the same share of the bits."""
    bits = _bits(len(cells.sizes))
    return bool(len(cells.sizes)) and int(cells.sizes.max()) < 2**bits


def _bits(axis_count: int) -> int:
    return _KEY_BITS // max(1, axis_count)


class CountMatrix:
    """Rows are buckets and columns sizes, both in the order in which they first came."""

    def __init__(self, axis_count: int) -> None:
        self._axis_count = axis_count
        self._starts = np.zeros(0, np.int64)
        self._keys = np.zeros(0, np.int64)
        self._counts = np.zeros((256, 2048), np.int64)

    @property
    def starts_us(self) -> Int64Array:
        return self._starts

    @property
    def size_count(self) -> int:
        return len(self._keys)

    def used_cell_count(self) -> int:
        return int(np.count_nonzero(self._counts))

    def add(self, cells: Cells, starts_us: Int64Array) -> None:
        """Add cells, whose buckets start at `starts_us`; a pair may occur more than once."""
        self._starts, rows = _places(self._starts, starts_us)
        self._keys, columns = _places(self._keys, self._packed(cells.sizes))
        self._grow(len(self._starts), len(self._keys))
        width = self._counts.shape[1]
        places = rows * width + columns
        np.add.at(self._counts.reshape(-1), places, cells.counts)

    def rebucket(self, bucket: Callable[[Int64Array], Int64Array]) -> None:
        """Add up the rows whose buckets became one."""
        starts, rows = _places(np.zeros(0, np.int64), bucket(self._starts))
        merged = np.zeros((max(256, len(starts)), self._counts.shape[1]), np.int64)
        for old, new in enumerate(rows):
            merged[new] += self._counts[old]
        self._starts, self._counts = starts, merged

    def cells(self) -> Cells:
        used = self._counts[: len(self._starts), : len(self._keys)]
        rows, columns = np.nonzero(used)
        return Cells(self._starts[rows], self._unpacked(self._keys)[:, columns], used[rows, columns])

    def _grow(self, rows: int, columns: int) -> None:
        height, width = self._counts.shape
        if rows <= height and columns <= width:
            return
        wider = np.zeros((_next(height, rows), _next(width, columns)), np.int64)
        wider[:height, :width] = self._counts
        self._counts = wider

    def _packed(self, sizes: Int64Array) -> Int64Array:
        bits = _bits(self._axis_count)
        key: Int64Array = sizes[0]
        for values in sizes[1:]:
            key = np.asarray((key << bits) | values)
        return key

    def _unpacked(self, keys: Int64Array) -> Int64Array:
        bits = _bits(self._axis_count)
        shifts = [bits * place for place in reversed(range(self._axis_count))]
        return np.stack([(keys >> shift) & (2**bits - 1) for shift in shifts])


def _next(have: int, need: int) -> int:
    return have if have >= need else max(need, 2 * have)


def _places(known: Int64Array, values: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The known values with new ones behind them, and the place of each value among them."""
    found = pc.index_in(pa.array(values), value_set=pa.array(known))
    if found.null_count:
        missing = np.asarray(found.is_null())
        known = np.concatenate([known, pc.unique(pa.array(values[missing])).to_numpy()])
        found = pc.index_in(pa.array(values), value_set=pa.array(known))
    return known, found.to_numpy().astype(np.int64)
