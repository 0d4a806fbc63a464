"""Counts the rows of a block into cells: densely where the sizes span little, else by hashing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.traffic.cells import Cells, packed

Int64Array = NDArray[np.int64]

_DENSE_CELLS_PER_ROW = 4
_LEAST_DENSE_CELLS = 1 << 16


def count_rows(starts_us: Int64Array, sizes: Sequence[Int64Array], weights: Int64Array | None) -> Cells:
    """Cells of rows with the given bucket starts and sizes, each of shape (rows,)."""
    columns = [starts_us, *sizes]
    ranges = [(int(values.min()), int(values.max())) for values in columns]
    key, spans = _key(columns, ranges)
    if key is None:
        return Cells(starts_us, np.stack(sizes) if sizes else np.zeros((0, len(starts_us)), np.int64),
                     np.ones(len(starts_us), np.int64) if weights is None else weights)  # fmt: skip
    distinct, counts = _counted(key, int(np.prod(spans, dtype=object)), weights)
    return _unpacked(distinct, counts, (ranges, spans))


def _key(
    columns: Sequence[Int64Array], ranges: Sequence[tuple[int, int]]
) -> tuple[Int64Array | None, list[int]]:
    spans = [largest - least + 1 for least, largest in ranges]
    return packed(columns), spans


def _counted(key: Int64Array, span: int, weights: Int64Array | None) -> tuple[Int64Array, Int64Array]:
    is_dense = span <= max(_LEAST_DENSE_CELLS, _DENSE_CELLS_PER_ROW * len(key))
    if is_dense and weights is None:
        counts = np.bincount(key, minlength=0)
        distinct = np.flatnonzero(counts)
        return distinct, counts[distinct]
    if weights is None:
        table = pc.value_counts(pa.array(key))
        return table.field("values").to_numpy(), table.field("counts").to_numpy()
    grouped = pa.table({"key": key, "weight": weights}).group_by("key").aggregate([("weight", "sum")])
    return grouped["key"].to_numpy(), grouped["weight_sum"].to_numpy()


def _unpacked(
    key: Int64Array, counts: Int64Array, layout: tuple[Sequence[tuple[int, int]], Sequence[int]]
) -> Cells:
    ranges, spans = layout
    columns: list[Int64Array] = []
    rest = key
    for (least, _), span in zip(reversed(ranges), reversed(spans), strict=True):
        rest, values = np.divmod(rest, span)
        columns.append(values + least)
    starts, *sizes = reversed(columns)
    return Cells(starts, np.stack(sizes) if sizes else np.zeros((0, len(key)), np.int64), counts)
