"""Cuts the tallied traffic into the part the search sees and the later part that it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
    rows = np.cumsum(new_size) - 1
    sizes = cells.sizes[:, new_size].T
    histogram = _histogram(axes, sizes, rows, cells.counts)
    timed = cells.starts_us > UNTIMED_HOLDOUT
    held = cells.starts_us == UNTIMED_HOLDOUT
    holdout_by = "hash" if held.any() else None
    if timed.any():
        start = _holdout_start(cells, timed, _requests(cells, axes, requests_axis))
        if start is not None:
            held |= timed & (cells.starts_us >= start)
            holdout_by = "time"
    buckets = TimeBuckets(cells.starts_us[timed], rows[timed], cells.counts[timed]) if timed.any() else None
    if not held.any() or held.all():
        return Parts(histogram, histogram, None, None, buckets)
    tune = _histogram(axes, sizes, rows[~held], cells.counts[~held])
    return Parts(
        histogram, tune, _histogram(axes, sizes, rows[held], cells.counts[held]), holdout_by, buckets
    )


def _histogram(
    axes: tuple[str, ...], sizes: Int64Array, rows: Int64Array, counts: Int64Array
) -> SizeHistogram:
    totals = np.zeros(len(sizes), np.int64)
    np.add.at(totals, rows, counts)
    return SizeHistogram(axes, sizes, totals)


def _requests(cells: Cells, axes: tuple[str, ...], requests_axis: str | None) -> FloatArray:
    if requests_axis is None:
        return cells.counts.astype(np.float64)
    return np.asarray(cells.counts.astype(np.float64) * cells.sizes[axes.index(requests_axis)])


def _holdout_start(cells: Cells, timed: Mask, requests: FloatArray) -> int | None:
    """The bucket where the holdout begins: the cut that comes nearest to its share."""
    starts = np.unique(cells.starts_us[timed])
    if len(starts) < 2:
        return None
    bucket = np.searchsorted(starts, cells.starts_us[timed])
    before = np.cumsum(np.bincount(bucket, weights=requests[timed]))[:-1]
    total = float(requests[timed].sum())
    return int(starts[1 + np.abs(before - (1 - HOLDOUT_SHARE) * total).argmin()])
