"""Cuts the tallied traffic into the part the search sees and the later part that it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tuner.traffic.cells import Cells
from tuner.traffic.histogram import FloatArray, Int64Array, SizeHistogram
from tuner.traffic.tally import UNTIMED_HOLDOUT
from tuner.traffic.traffic import HOLDOUT_SHARE, TimeBuckets

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Parts:
    """The histogram of everything, its two parts, how they were cut, and the timed cells as buckets."""

    histogram: SizeHistogram
    tune: SizeHistogram
    holdout: SizeHistogram | None
    holdout_by: str | None
    buckets: TimeBuckets | None


def cut(cells: Cells, axes: tuple[str, ...], requests_axis: str | None) -> Parts:
    """The last 30 % of requests in order of time are held out; rows without a time by their hash.

    The cells are in order of size. A bucket falls on one side as a whole; where that leaves a side empty
    there is no holdout.
    """
    new_size = cells.size_starts()
    firsts = np.flatnonzero(new_size)
    sizes = cells.sizes[:, firsts].T
    totals = _totals(cells.counts, firsts)
    histogram = SizeHistogram(axes, sizes, totals)
    held = cells.starts_us == UNTIMED_HOLDOUT
    holdout_by = "hash" if held.any() else None
    timed = _timed(cells)
    if timed is not None:
        start = _holdout_start(timed, _requests(timed, axes, requests_axis))
        if start is not None:
            held |= cells.starts_us >= start
            holdout_by = "time"
    buckets = None if timed is None else _buckets(cells, timed, np.cumsum(new_size) - 1)
    if not held.any() or held.all():
        return Parts(histogram, histogram, None, None, buckets)
    held_totals = _totals(np.where(held, cells.counts, 0), firsts)
    tune = SizeHistogram(axes, sizes, totals - held_totals)
    return Parts(histogram, tune, SizeHistogram(axes, sizes, held_totals), holdout_by, buckets)


def _totals(counts: Int64Array, firsts: Int64Array) -> Int64Array:
    """Sums of stretches that begin at `firsts`; an array of its own, shape (firsts,)."""
    return np.asarray(np.add.reduceat(counts, firsts) if len(firsts) else np.zeros(0, np.int64))


def _timed(cells: Cells) -> Cells | None:
    """The cells that have a time; None where there are none."""
    timed = cells.starts_us > UNTIMED_HOLDOUT
    if timed.all():
        return cells if len(timed) else None
    return Cells(cells.starts_us[timed], cells.sizes[:, timed], cells.counts[timed]) if timed.any() else None


def _buckets(cells: Cells, timed: Cells, rows: Int64Array) -> TimeBuckets:
    if timed is not cells:
        rows = rows[cells.starts_us > UNTIMED_HOLDOUT]
    return TimeBuckets(timed.starts_us, rows, timed.counts)


def _requests(cells: Cells, axes: tuple[str, ...], requests_axis: str | None) -> FloatArray:
    if requests_axis is None:
        return cells.counts.astype(np.float64)
    return np.asarray(cells.counts.astype(np.float64) * cells.sizes[axes.index(requests_axis)])


def _holdout_start(cells: Cells, requests: FloatArray) -> int | None:
    """The bucket where the holdout begins: the cut that comes nearest to its share."""
    encoded = pa.array(cells.starts_us).dictionary_encode()
    starts = encoded.dictionary.to_numpy()
    if len(starts) < 2:
        return None
    order = np.argsort(starts)
    by_bucket = np.bincount(encoded.indices.to_numpy(), weights=requests)[order]
    before = np.cumsum(by_bucket)[:-1]
    total = float(requests.sum())
    return int(starts[order[1 + np.abs(before - (1 - HOLDOUT_SHARE) * total).argmin()]])
