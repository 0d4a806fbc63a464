"""Counts the rows of a block into cells: by runs of one time bucket where rows are in order of time, else by
hashing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.traffic.cells import Cells, Grid, Int64Array

_DENSE_CELLS_PER_ROW = 4
_LEAST_DENSE_CELLS = 1 << 16
_ROWS_PER_GRID_START = 256
"""Rows for each bucket from which on a grid is worth it: its buckets are added one after another."""
_LARGEST_KEY = 2**62
_LARGEST_INT32 = 2**31 - 1


class Span(NamedTuple):
    """First and last of some times, and whether they come in order."""

    first_us: int
    last_us: int
    is_rising: bool


def span_of(times_us: Int64Array) -> Span:
    """One pass where the times are in order, as those of most logs are."""
    if (times_us[1:] >= times_us[:-1]).all():
        return Span(int(times_us[0]), int(times_us[-1]), True)
    return Span(int(times_us.min()), int(times_us.max()), False)


def count_rows(
    times_us: Int64Array,
    width_us: int,
    sizes: Sequence[Int64Array],
    weights: Int64Array | None,
    span: Span | None = None,
) -> Cells | Grid:
    """Counts of rows, each row in the bucket of its time; all arrays have shape (rows,), at least one row.

    In cells a pair of bucket and size may come more than once. `span` is that of the times, if it is known.
    """
    codes = _SizeCodes.of(sizes)
    first, last, is_rising = span or span_of(times_us)
    if codes is not None and first // width_us == last // width_us:
        found, counts = _counted(codes.codes(sizes, len(times_us)), codes.span, weights)
        return codes.cells(np.full(len(found), first // width_us * width_us), found, counts)
    if codes is None or weights is not None or width_us == 1 or not is_rising:
        return _hashed(times_us, width_us, (sizes, codes), weights)
    return _by_runs(times_us, width_us, codes, sizes)


@dataclass(frozen=True, slots=True)
class _SizeCodes:
    """Sizes as one number each, dense between the least and the largest value of each axis."""

    least: tuple[int, ...]
    spans: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[Int64Array]) -> _SizeCodes | None:
        """None where 62 bits do not hold the codes."""
        bounds = [(int(values.min()), int(values.max())) for values in sizes]
        codes = cls(tuple(low for low, _ in bounds), tuple(high - low + 1 for low, high in bounds))
        return codes if codes.span <= _LARGEST_KEY else None

    @property
    def span(self) -> int:
        span = 1
        for part in self.spans:
            span *= part
        return span

    def codes(self, sizes: Sequence[Int64Array], row_count: int) -> NDArray[np.signedinteger[Any]]:
        """In 32 bits where they suffice, which halves the memory to go through."""
        if not sizes:
            return np.zeros(row_count, np.int64)
        least = self._least_key()
        is_small = min(self.least) >= 0 and self.span + least < _LARGEST_INT32
        return self._small_codes(sizes, least) if is_small else self._large_codes(sizes)

    def _least_key(self) -> int:
        """The key of the smallest size, where keys are not moved to start at 0."""
        key = 0
        for least, span in zip(self.least, self.spans, strict=True):
            key = key * span + least
        return key

    def _small_codes(self, sizes: Sequence[Int64Array], least: int) -> NDArray[np.int32]:
        """Moved to 0 once, at the end: two passes and one array less than axis by axis."""
        key = sizes[0].astype(np.int32)
        for values, span in zip(sizes[1:], self.spans[1:], strict=True):
            key *= np.int32(span)
            np.add(key, values, out=key, casting="same_kind")
        key -= np.int32(least)
        return key

    def _large_codes(self, sizes: Sequence[Int64Array]) -> Int64Array:
        key: Any = None
        for values, least, span in zip(sizes, self.least, self.spans, strict=True):
            shifted = values.astype(np.int64, copy=False)
            shifted = shifted - least if least else shifted
            key = shifted if key is None else key * span + shifted
        return np.asarray(key)

    def cells(self, starts_us: Int64Array, codes: Int64Array, counts: Int64Array) -> Cells:
        return Cells(starts_us, self.sizes(codes), counts)

    def sizes(self, codes: Int64Array) -> Int64Array:
        """The sizes of codes, shape (axes, codes)."""
        columns: list[Int64Array] = []
        rest = codes.astype(np.int64)
        for least, span in zip(reversed(self.least), reversed(self.spans), strict=True):
            rest, values = _divided(rest, span)
            columns.append(values + least)
        return np.stack(columns[::-1]) if columns else np.zeros((0, len(codes)), np.int64)


def _is_dense(span: int, row_count: int) -> bool:
    """Whether an array with a place for each code is small enough beside the rows."""
    return span <= max(_LEAST_DENSE_CELLS, _DENSE_CELLS_PER_ROW * row_count)


def _divided(values: Int64Array, by: int) -> tuple[Int64Array, Int64Array]:
    """Quotients and remainders; `np.divmod` takes several times as long."""
    quotients = values // by
    return quotients, values - quotients * by


def _counted(
    codes: NDArray[np.signedinteger[Any]], span: int, weights: Int64Array | None
) -> tuple[Int64Array, Int64Array]:
    if weights is not None:
        grouped = pa.table({"code": codes, "weight": weights}).group_by("code").aggregate([("weight", "sum")])
        return grouped["code"].to_numpy(), grouped["weight_sum"].to_numpy()
    if _is_dense(span, len(codes)):
        counts = np.bincount(codes)
        found = np.flatnonzero(counts != 0)
        return found, counts[found]
    table = pc.value_counts(pa.array(codes))
    return table.field("values").to_numpy(), table.field("counts").to_numpy()


def _by_runs(times_us: Int64Array, width_us: int, codes: _SizeCodes, sizes: Sequence[Int64Array]) -> Cells:
    """Rows in order of time: each bucket is a stretch of them, coded and counted on its own, in the cache."""
    row_count = len(times_us)
    first, last = int(times_us[0]) // width_us, int(times_us[-1]) // width_us
    has_gaps = last - first > row_count
    slots = np.unique(times_us // width_us) if has_gaps else np.arange(first, last + 1)
    ends = np.append(np.searchsorted(times_us, slots * width_us), row_count)
    parts: list[tuple[int, Int64Array, Int64Array]] = []
    for slot, start, end in zip(slots, ends[:-1], ends[1:], strict=True):
        if start < end:
            code = codes.codes([values[start:end] for values in sizes], end - start)
            parts.append((int(slot), *_counted(code, codes.span, None)))
    starts = np.repeat([slot * width_us for slot, _, _ in parts], [len(found) for _, found, _ in parts])
    found = np.concatenate([found for _, found, _ in parts])
    return codes.cells(starts, found, np.concatenate([counts for _, _, counts in parts]))


def _hashed(
    times_us: Int64Array,
    width_us: int,
    sizes: tuple[Sequence[Int64Array], _SizeCodes | None],
    weights: Int64Array | None,
) -> Cells | Grid:
    """One key for bucket and size where it fits, else the rows as they are, to be grouped later."""
    columns, codes = sizes
    slots = times_us // width_us if width_us > 1 else times_us
    first = int(slots.min())
    slot_count = int(slots.max()) - first + 1
    if codes is None or codes.span * slot_count > _LARGEST_KEY:
        counts = np.ones(len(slots), np.int64) if weights is None else weights
        return Cells(slots * width_us, np.stack(columns).astype(np.int64), counts)
    code = codes.codes(columns, len(slots)).astype(np.int64)
    span = codes.span * slot_count
    keys = (slots - first) * codes.span + code
    if weights is None and _is_dense(span, len(keys)) and slot_count * _ROWS_PER_GRID_START <= len(keys):
        used = np.flatnonzero(np.bincount(code, minlength=codes.span))
        counts = np.bincount(keys, minlength=span).reshape(slot_count, codes.span).take(used, axis=1)
        return Grid((np.arange(slot_count) + first) * width_us, codes.sizes(used), counts)
    found, counts = _counted(keys, span, weights)
    slot, code = _divided(found, codes.span)
    return codes.cells((slot + first) * width_us, code, counts)
