"""The traffic over time: how percentiles of the sizes move from period to period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from tuner.traffic.traffic import Traffic

MOST_PERIODS = 48
"""How many periods a traffic is cut into at most: a day by half hours."""
MINUTE_US = 60_000_000
# Widths that a person reads easily, from a minute to four weeks; wider ones are multiples of the last.
_WIDTHS_MIN = (1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2 * 1440, 7 * 1440, 28 * 1440)


@dataclass(frozen=True, slots=True)
class Period:
    """Requests and percentiles of one period; `percentiles` maps an axis, or `work`, to their values."""

    start: datetime
    requests: int
    percentiles: dict[str, tuple[int, ...]]


def periods(traffic: Traffic, percents: Sequence[float]) -> tuple[Period, ...]:
    """The traffic cut into periods of equal length, without empty ones; nothing where no time is known."""
    buckets = traffic.buckets
    if buckets is None or len(buckets.starts_us) == 0:
        return ()
    width = _width_us(int(buckets.starts_us.max() - buckets.starts_us.min()))
    numbers = buckets.starts_us // width
    found = []
    for number in np.unique(numbers):
        inside = numbers == number
        counts = np.bincount(
            buckets.size_rows[inside], weights=buckets.counts[inside], minlength=len(traffic.histogram)
        )
        kept = counts > 0
        part = traffic.histogram.where(kept)
        part = type(part)(part.axes, part.sizes, counts[kept].astype(np.int64))
        found.append(
            Period(
                datetime.fromtimestamp(int(number) * width / 1e6, UTC),
                int(traffic.requests(part).sum()),
                {
                    **{axis: tuple(part.percentiles(axis, percents)) for axis in part.axes},
                    "work": tuple(part.work_percentiles(percents)),
                },
            )
        )
    return tuple(found)


def _width_us(span_us: int) -> int:
    widths = [minutes * MINUTE_US for minutes in _WIDTHS_MIN]
    fitting = [width for width in widths if span_us // width < MOST_PERIODS]
    return fitting[0] if fitting else widths[-1] * (1 + span_us // (widths[-1] * MOST_PERIODS))
