"""Counts as a matrix of time buckets by sizes: adding a block to it takes no sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tuner.traffic.cells import Cells, Grid, Int64Array

_KEY_BITS = 62
_LEAST_ROWS = 16


class CountMatrix:
    """Rows are buckets and columns sizes, both in the order in which they first came."""

    def __init__(self, axis_count: int) -> None:
        self._bits = _KEY_BITS // max(1, axis_count)
        self._is_packed = True
        self._starts = pa.array([], pa.int64())
        self._keys = pa.array([], pa.int64())
        self._sizes = np.zeros((axis_count, 0), np.int64)
        self._counts = np.zeros((_LEAST_ROWS, 1024), np.int64)

    @property
    def starts_us(self) -> Int64Array:
        return np.asarray(self._starts.to_numpy(), dtype=np.int64)

    @property
    def size_count(self) -> int:
        return len(self._keys)

    def columns(self, sizes: Int64Array) -> Int64Array:
        """The column of each size, shape (cells,); a size that is new gets one."""
        self._keys, columns, new = _places(self._keys, self._keys_of(sizes))
        if len(new):
            self._sizes = np.concatenate([self._sizes, sizes[:, new]], axis=1)
        return columns

    def add(self, starts_us: Int64Array, columns: Int64Array, counts: Int64Array) -> None:
        """Add counts of sizes in buckets.

        All of shape (cells,), where a pair may occur more than once; or counts of shape (starts, columns),
        where a start may, and a column may not.
        """
        self._starts, rows, _ = _places(self._starts, pa.array(starts_us))
        self._grow(len(self._starts), len(self._keys))
        if counts.ndim == 1:
            np.add.at(self._counts.reshape(-1), rows * self._counts.shape[1] + columns, counts)
            return
        for row, here in zip(rows.tolist(), counts, strict=True):
            self._counts[row, columns] += here

    def grid(self) -> Grid:
        """All counts, buckets and sizes in the order in which they came."""
        return Grid(self.starts_us, self._sizes, self._counts[: len(self._starts), : len(self._keys)])

    def rebucket(self, bucket: Callable[[Int64Array], Int64Array]) -> None:
        """Add up the rows whose buckets became one."""
        starts, rows, _ = _places(pa.array([], pa.int64()), pa.array(bucket(self.starts_us)))
        merged = np.zeros((max(_LEAST_ROWS, len(starts)), self._counts.shape[1]), np.int64)
        for old, new in enumerate(rows):
            merged[new] += self._counts[old]
        self._starts, self._counts = starts, merged

    def cells(self) -> Cells:
        """The counts that are not zero, in order of size, then bucket."""
        starts = self.starts_us
        by_start, by_size = np.argsort(starts), np.lexsort(self._sizes[::-1])
        if not len(self._sizes):
            by_size = np.zeros(min(1, len(self._keys)), np.int64)
        used = self._counts[: len(starts)].take(by_start, axis=0).T.take(by_size, axis=0).reshape(-1)
        places = np.flatnonzero(used != 0)
        columns, rows = np.divmod(places, np.int64(max(1, len(starts))))
        sizes = self._sizes.take(by_size, axis=1).take(columns, axis=1)
        return Cells(starts.take(by_start).take(rows), sizes, used.take(places))

    def _grow(self, rows: int, columns: int) -> None:
        height, width = self._counts.shape
        if rows <= height and columns <= width:
            return
        wider = np.zeros((_next(height, rows), _next(width, columns)), np.int64)
        wider[:height, :width] = self._counts
        self._counts = wider

    def _keys_of(self, sizes: Int64Array) -> Any:
        """A number for each size, each axis with its share of the bits; bytes once that is too little."""
        if self._is_packed and sizes.size and int(sizes.max()) >= 2**self._bits:
            self._is_packed = False
            self._keys = _as_bytes(self._sizes)
        if not self._is_packed:
            return _as_bytes(sizes)
        key = np.zeros(sizes.shape[1], np.int64)
        for values in sizes:
            key = (key << self._bits) | values
        return pa.array(key)


def _as_bytes(sizes: Int64Array) -> Any:
    rows = np.ascontiguousarray(sizes.T)
    kind = pa.binary(8 * sizes.shape[0])
    return pa.FixedSizeBinaryArray.from_buffers(kind, sizes.shape[1], [None, pa.py_buffer(rows)])


def _next(have: int, need: int) -> int:
    return have if have >= need else max(need, 2 * have)


def _places(known: Any, values: Any) -> tuple[Any, Int64Array, Int64Array]:
    """The known values and behind them the new, the place of each value, and where new ones came first."""
    found = pc.index_in(values, value_set=known)
    first = np.zeros(0, np.int64)
    if found.null_count:
        missing = np.flatnonzero(np.asarray(found.is_null()))
        encoded = values.take(pa.array(missing)).dictionary_encode()
        codes = encoded.indices.to_numpy()
        # Codes are given in order of appearance: a value is new where its code exceeds all before it.
        highest = np.maximum.accumulate(np.concatenate([[-1], codes[:-1]]))
        first = missing[codes > highest]
        found = found.to_numpy(zero_copy_only=False).astype(np.float64)
        found[missing] = len(known) + codes
        known = pa.concat_arrays([known, encoded.dictionary])
        return known, found.astype(np.int64), first
    return known, found.to_numpy().astype(np.int64), first
