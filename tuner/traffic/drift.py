"""How the traffic moves over time: the percentiles of each axis, period by period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tuner.logs.times import to_datetime
from tuner.traffic.percentiles import weighted_percentiles
from tuner.traffic.traffic import TimeBuckets, Traffic

PERCENTS = (50, 90, 99)
_MINUTE = 60_000_000
_PERIODS_US = (_MINUTE, 10 * _MINUTE, 60 * _MINUTE, 24 * 60 * _MINUTE, 7 * 24 * 60 * _MINUTE)
_MOST_PERIODS = 48


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time with its rows: P50, P90 and P99 of each axis and of the work (`work`)."""

    start: datetime
    count: int
    percentiles: Mapping[str, tuple[float, ...]]


def periods(traffic: Traffic) -> tuple[Period, ...]:
    """The traffic by hour or day, by minutes where it is shorter; nothing where times are not known.

    The period is the shortest that makes at most 48 of them and is no shorter than the time buckets.
    """
    buckets = traffic.buckets
    if buckets is None or not len(buckets.counts):
        return ()
    starts = np.unique(buckets.starts_us)
    period_us = _period_us(starts)
    number = buckets.starts_us // period_us
    return tuple(_period(traffic, buckets, number == n, int(n) * period_us) for n in np.unique(number))


def _period_us(starts: NDArray[np.int64]) -> int:
    span = int(starts[-1] - starts[0])
    width = int(np.diff(starts).min()) if len(starts) > 1 else 1
    fitting = (p for p in _PERIODS_US if span // p < _MOST_PERIODS and p >= min(width, _PERIODS_US[-1]))
    return next(fitting, _PERIODS_US[-1])


def _period(traffic: Traffic, buckets: TimeBuckets, here: NDArray[np.bool_], start_us: int) -> Period:
    rows, counts = buckets.size_rows[here], buckets.counts[here]
    of_axis = {
        axis: tuple(weighted_percentiles(traffic.histogram.values(axis)[rows], counts, PERCENTS))
        for axis in traffic.axes
    }
    of_axis["work"] = tuple(weighted_percentiles(traffic.histogram.work[rows], counts, PERCENTS))
    return Period(to_datetime(start_us), int(counts.sum()), of_axis)
