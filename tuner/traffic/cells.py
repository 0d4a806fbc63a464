"""Cells: how often a size fell into a time bucket, as parallel arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]

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


def grouped(cells: Cells, bucket: Callable[[Int64Array], Int64Array]) -> Cells:
    """Each pair of bucket and size once, in order of bucket, then size."""
    if not len(cells.counts):
        return cells
    starts = bucket(cells.starts_us)
    slots, slot = np.unique(starts, return_inverse=True)
    key = packed((slot, *cells.sizes))
    order = np.lexsort((*cells.sizes[::-1], slot)) if key is None else np.argsort(key, kind="stable")
    slot, sizes, counts = slot[order], cells.sizes[:, order], cells.counts[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = slot[1:] != slot[:-1]
    for values in sizes:
        is_first[1:] |= values[1:] != values[:-1]
    first = np.flatnonzero(is_first)
    return Cells(slots[slot[first]], sizes[:, first], np.add.reduceat(counts, first))


def packed(columns: Sequence[Int64Array]) -> Int64Array | None:
    """One number a row that sorts like the columns, None where 62 bits do not hold it."""
    key: Int64Array | None = None
    span = 1
    for values in columns:
        least, largest = int(values.min()), int(values.max())
        span *= largest - least + 1
        if span > _LARGEST_KEY:
            return None
        shifted = values - least
        key = shifted if key is None else key * (largest - least + 1) + shifted
    return key
