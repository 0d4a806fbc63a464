"""The cleaned traffic of a log: what the search may see, what it may not, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.traffic.histogram import FloatArray, SizeHistogram

HOLDOUT_SHARE = 0.3
"""The later part of the traffic that the search does not see."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Rows left out for one reason, and where the first of them was."""

    count: int
    first_place: str


@dataclass(frozen=True, slots=True)
class TimeBuckets:
    """The traffic over time: row i of `counts` says how often size `size_rows[i]` fell into bucket i.

    All arrays have shape (entries,). `starts_us` are microseconds since the epoch, UTC, at the start of the
    bucket; `size_rows` are rows of the traffic's histogram.
    """

    starts_us: NDArray[np.int64]
    size_rows: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """All valid requests as a size histogram, with what is known of their time.

    `holdout` is the later part (or, without times, a part chosen by hash), `tune` the rest; together they
    are `histogram`. `holdout_by` says how it was cut: `time`, `hash` or None where there is no holdout.
    `rejections` maps a reason of the design's list to its rows. `notes` are sentences for the user: which
    columns were understood as what, which files were left out. Rows read (`row_count`) are used, rejected
    or skipped; `skipped` are left out on purpose, such as rows outside `--since` and `--until`.
    `requests_axis` is the axis that says how many requests a row stands for (kind `batches`), None where a
    row is one.
    """

    histogram: SizeHistogram
    tune: SizeHistogram
    holdout: SizeHistogram | None = None
    holdout_by: str | None = None
    buckets: TimeBuckets | None = None
    start: datetime | None = None
    end: datetime | None = None
    log_kind: str = "requests"
    requests_axis: str | None = None
    row_count: int = 0
    used_row_count: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    rejections: Mapping[str, Rejection] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parts = [self.tune] if self.holdout is None else [self.tune, self.holdout]
        if SizeHistogram.merged(parts) != self.histogram:
            raise TunerError("traffic: tuned part and holdout do not add up to the histogram")

    @property
    def axes(self) -> tuple[str, ...]:
        return self.histogram.axes

    @property
    def rejected_count(self) -> int:
        return sum(rejection.count for rejection in self.rejections.values())

    def requests(self, histogram: SizeHistogram) -> FloatArray:
        """Requests that each size of the histogram stands for, shape (distinct,)."""
        if self.requests_axis is None:
            return histogram.counts.astype(np.float64)
        return np.asarray(histogram.counts * histogram.values(self.requests_axis), dtype=np.float64)
