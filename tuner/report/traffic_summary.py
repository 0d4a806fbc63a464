"""What `inspect` shows of a log, as plain data: numbers and labels, ready for a table or for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from tuner.traffic.drift import Period, periods
from tuner.traffic.histogram import FloatArray
from tuner.traffic.percentiles import weighted_percentiles
from tuner.traffic.traffic import Traffic

PERCENTS = (50, 90, 99)
HEAVIEST = 10
WORK = "work"


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, median, P90, P99 and largest value of one axis, or of the work."""

    name: str
    min: int
    p50: int
    p90: int
    p99: int
    max: int
    zero_count: int


@dataclass(frozen=True, slots=True)
class HeavySize:
    """One of the sizes that occur most, with its shares from 0 to 1."""

    size: str
    values: tuple[int, ...]
    count: int
    request_share: float
    work_share: float


@dataclass(frozen=True, slots=True)
class WorkRange:
    """Requests whose work lies between two powers of two: `least` to `most`, both included."""

    least: int
    most: int
    share: float


@dataclass(frozen=True, slots=True)
class TrafficSummary:
    """The content of `inspect`; percentiles are by nearest rank over the rows that count."""

    traffic: Traffic
    request_count: int
    spreads: tuple[Spread, ...]
    heaviest: tuple[HeavySize, ...]
    work_ranges: tuple[WorkRange, ...]
    periods: tuple[Period, ...]

    @property
    def span_s(self) -> float | None:
        start, end = self.traffic.start, self.traffic.end
        return None if start is None or end is None else (end - start).total_seconds()


def summary_of(traffic: Traffic) -> TrafficSummary:
    work = traffic.histogram.work
    axes = [(axis, traffic.histogram.values(axis).astype(np.float64)) for axis in traffic.axes]
    return TrafficSummary(
        traffic,
        int(traffic.requests(traffic.histogram).sum()),
        tuple(_spread(name, values, traffic) for name, values in [*axes, (WORK, work)]),
        _heaviest(traffic, work),
        _work_ranges(traffic, work),
        periods(traffic),
    )


def _spread(name: str, values: FloatArray, traffic: Traffic) -> Spread:
    counts = traffic.histogram.counts
    p50, p90, p99 = (int(v) for v in weighted_percentiles(values, counts, PERCENTS))
    return Spread(name, int(values.min()), p50, p90, p99, int(values.max()), int(counts[values == 0].sum()))


def _heaviest(traffic: Traffic, work: FloatArray) -> tuple[HeavySize, ...]:
    histogram = traffic.histogram
    requests = traffic.requests(histogram)
    total, total_work = float(requests.sum()), float(work @ histogram.counts)
    return tuple(
        HeavySize(
            histogram.size(row).short,
            histogram.size(row).values,
            int(histogram.counts[row]),
            _share(float(requests[row]), total),
            _share(float(work[row] * histogram.counts[row]), total_work),
        )
        for row in histogram.heaviest(HEAVIEST)
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _work_ranges(traffic: Traffic, work: FloatArray) -> tuple[WorkRange, ...]:
    """One range for each power of two, from the least work to the most; 0 is a range of its own."""
    exponents = np.where(work > 0, np.floor(np.log2(np.maximum(work, 1))), -1).astype(np.int64)
    requests = traffic.requests(traffic.histogram)
    total = float(requests.sum())
    return tuple(
        WorkRange(
            2**n if n >= 0 else 0, 2 ** (n + 1) - 1, _share(float(requests[exponents == n].sum()), total)
        )
        for n in range(int(exponents.min()), int(exponents.max()) + 1)
    )


def summary_as_json(summary: TrafficSummary) -> dict[str, Any]:
    """The summary for machines, in a stable order; what is not known is null."""
    traffic = summary.traffic
    return {
        "log_kind": traffic.log_kind,
        "requests": summary.request_count,
        "rows_read": traffic.row_count,
        "rows_used": traffic.used_row_count,
        "rejected": {
            reason: {"rows": r.count, "first": r.first_place} for reason, r in traffic.rejections.items()
        },
        "skipped": dict(traffic.skipped),
        "span": {
            "start": _text(traffic.start),
            "end": _text(traffic.end),
            "seconds": summary.span_s,
        },
        "axes": {spread.name: _spread_json(spread) for spread in summary.spreads if spread.name != WORK},
        "work": next(_spread_json(spread) for spread in summary.spreads if spread.name == WORK),
        "distinct_sizes": len(traffic.histogram),
        "heaviest": [
            {
                "size": dict(zip(traffic.axes, heavy.values, strict=True)),
                "count": heavy.count,
                "request_share": heavy.request_share,
                "work_share": heavy.work_share,
            }
            for heavy in summary.heaviest
        ],
        "holdout": {
            "by": traffic.holdout_by,
            "share": None if traffic.holdout is None else _holdout_share(traffic),
        },
        "drift": [_period_json(period) for period in summary.periods],
        "notes": list(traffic.notes),
    }


def _spread_json(spread: Spread) -> dict[str, int]:
    return {
        "min": spread.min,
        "p50": spread.p50,
        "p90": spread.p90,
        "p99": spread.p99,
        "max": spread.max,
        "zero_count": spread.zero_count,
    }


def _holdout_share(traffic: Traffic) -> float:
    assert traffic.holdout is not None
    held = float(traffic.requests(traffic.holdout).sum())
    return _share(held, float(traffic.requests(traffic.histogram).sum()))


def _period_json(period: Period) -> dict[str, Any]:
    return {
        "start": _text(period.start),
        "count": period.count,
        **{
            name: {f"p{percent}": int(value) for percent, value in zip(PERCENTS, values, strict=True)}
            for name, values in period.percentiles.items()
        },
    }


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
