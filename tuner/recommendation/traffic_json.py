"""The traffic section of the document: what was read, what it looks like, what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.recommendation.rounding import rounded
from tuner.replay.coverage import Coverage
from tuner.traffic.drift import periods
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

HEAVIEST_SIZES = 2_000
"""Sizes that the document's histogram lists one by one; the rest is summed up."""
_PERCENTS = (50, 90, 99)

Json = dict[str, Any]


def traffic_json(traffic: Traffic, coverage: Coverage | None) -> Json:
    histogram = traffic.histogram
    return {
        "start": traffic.start.isoformat() if traffic.start else None,
        "end": traffic.end.isoformat() if traffic.end else None,
        "log_kind": traffic.log_kind,
        "rows": traffic.row_count,
        "requests": int(traffic.requests(histogram).sum()),
        "distinct_sizes": len(histogram),
        "percentiles": {
            **{axis: _percentiles(histogram.percentiles(axis, _PERCENTS)) for axis in histogram.axes},
            "work": _percentiles(histogram.work_percentiles(_PERCENTS)),
        },
        "rejected": {
            reason: {"rows": rejection.count, "first": rejection.first_place}
            for reason, rejection in sorted(traffic.rejections.items())
        },
        "uncovered": _coverage(coverage),
        "notes": list(traffic.notes),
        "over_time": [
            {
                "start": period.start.isoformat(),
                "rows": period.count,
                "percentiles": {name: _percentiles(p) for name, p in period.percentiles.items()},
            }
            for period in periods(traffic)
        ],
        "histogram": _histogram(histogram),
    }


def _percentiles(values: Sequence[float]) -> Json:
    return {f"p{percent}": int(value) for percent, value in zip(_PERCENTS, values, strict=True)}


def _coverage(coverage: Coverage | None) -> Json | None:
    if coverage is None:
        return None
    smallest, largest = coverage.smallest_uncovered, coverage.largest_uncovered
    return {
        "action": coverage.action,
        "requests": int(coverage.uncovered_requests),
        "requests_share": rounded(coverage.request_share),
        "work_share": rounded(coverage.work_share),
        "smallest": smallest.as_dict() if smallest else None,
        "largest": largest.as_dict() if largest else None,
    }


def _histogram(histogram: SizeHistogram) -> Json:
    listed = sorted(histogram.heaviest(HEAVIEST_SIZES))
    rest = sorted(set(range(len(histogram))) - set(listed))
    return {
        "axes": list(histogram.axes),
        "sizes": [[*histogram.sizes[row].tolist(), int(histogram.counts[row])] for row in listed],
        "rest": _rest_in_buckets(histogram, rest),
    }


def _rest_in_buckets(histogram: SizeHistogram, rows: list[int]) -> list[list[int]]:
    """Sizes that are not listed, each axis rounded up to a power of two, with their counts."""
    totals: dict[tuple[int, ...], int] = {}
    for row in rows:
        bucket = tuple(1 << max(0, int(value) - 1).bit_length() for value in histogram.sizes[row])
        totals[bucket] = totals.get(bucket, 0) + int(histogram.counts[row])
    return [[*bucket, count] for bucket, count in sorted(totals.items())]
