"""Response times of a replay: what clients of the server see, and how full the server is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.replay.changes import ChangeCosts
from tuner.traffic.histogram import SizeHistogram

FloatArray = NDArray[np.float64]

RESPONSE_PERCENTS = (50.0, 90.0, 99.0, 99.9)


@dataclass(frozen=True, slots=True)
class ResponseLimit:
    """The SLO of a replay: a percentile of response time and its limit in ms."""

    percent: float
    limit_ms: float

    def __post_init__(self) -> None:
        if not 0 < self.percent < 100 or not self.limit_ms > 0:
            raise TunerError(
                f"a limit of {self.limit_ms:g} ms on P{self.percent:g}; a percentile between 0 and 100 and a "
                "limit above zero are accepted"
            )

    def __str__(self) -> str:
        return f"response_p{f'{self.percent:g}'.replace('.', '')}<={self.limit_ms:g}ms"


@dataclass(frozen=True, slots=True)
class Charged:
    """What changes cost, and the shares of all executions that were charged one.

    An execution changes the profile, or else the size, against the one before it on its context; the first
    of a context changes nothing.
    """

    costs: ChangeCosts
    size_share: float
    profile_share: float

    def __str__(self) -> str:
        return (
            f"{self.costs.size_ms:.4g} ms after another size ({self.size_share:.1%} of the executions), "
            f"{self.costs.profile_ms:.4g} ms after another profile ({self.profile_share:.1%})"
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QueueReplay:
    """What came out of one replay.

    `response_ms` and `waiting_ms` map a percent to the percentile over requests (nearest rank); both are
    empty where `is_overloaded`: the queue then grows as long as the log lasts, and a percentile would only
    say how long that was. `span_s` runs from first arrival to last end. `busy_share` is the share of it in
    which something executes. `executed` counts executions by size. `padding_ratio` is the work executed
    beyond what was asked for, as a share of the latter. `queue_lengths` are requests waiting at evenly
    spread times. `exceedance` are the shares of requests over the limit in consecutive parts of the log.
    `charged` is None where changes of size and profile cost nothing.
    """

    request_count: int
    span_s: float
    response_ms: Mapping[float, float]
    waiting_ms: Mapping[float, float]
    mean_response_ms: float
    mean_waiting_ms: float
    throughput_rps: float
    goodput_rps: float | None
    busy_share: float
    executed: SizeHistogram
    mean_batch: float
    padding_ratio: float
    queue_lengths: tuple[int, ...]
    is_overloaded: bool
    exceedance: tuple[float, ...] = ()
    charged: Charged | None = None


def percentiles_ms(
    seconds: FloatArray, percents: tuple[float, ...] = RESPONSE_PERCENTS
) -> dict[float, float]:
    """Nearest-rank percentiles of times in seconds, as ms."""
    found = np.quantile(seconds, np.array(percents) / 100, method="inverted_cdf")
    return {percent: float(value) * 1000 for percent, value in zip(percents, found, strict=True)}


EXCEEDANCE_PARTS = 20
QUEUE_SAMPLES = 60


def exceedance(seconds: FloatArray, limit_ms: float) -> tuple[float, ...]:
    """Share of requests over the limit in each of `EXCEEDANCE_PARTS` consecutive parts."""
    over = seconds * 1000 > limit_ms
    parts = np.array_split(over, min(EXCEEDANCE_PARTS, len(over)))
    return tuple(float(part.mean()) for part in parts)


def queue_lengths(arrival_s: FloatArray, start_s: FloatArray) -> tuple[int, ...]:
    """Requests that have come and not started, at evenly spread times from first to last arrival."""
    times = np.linspace(arrival_s[0], arrival_s[-1], QUEUE_SAMPLES)
    come = np.searchsorted(arrival_s, times, side="right")
    started = np.searchsorted(np.sort(start_s), times, side="right")
    return tuple((come - started).tolist())


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a replay: share of its time in which the GPU is busy, and its requests' mean wait."""

    busy_share: float
    mean_waiting_s: float


ALWAYS_BUSY = 0.99
GROWTH = 1.05
LARGEST_BACKLOG = 0.05


def is_growing(parts: Sequence[Part], backlog: float) -> bool:
    """Whether the queue grew as long as the log lasted.

    So it is where the GPU was busy all through the second half and either the requests of the last quarter
    waited longer, by `GROWTH`, than those of the quarter before, or what was left when the last request came
    took more than `LARGEST_BACKLOG` of the log's span to serve: `backlog` is that share.
    """
    if len(parts) < 4:
        return False
    half, quarter = len(parts) // 2, 3 * len(parts) // 4
    waits = [part.mean_waiting_s for part in parts]
    before, after = np.mean(waits[half:quarter]), np.mean(waits[quarter:])
    always = min(part.busy_share for part in parts[half:]) >= ALWAYS_BUSY
    return always and bool(after > GROWTH * before or backlog > LARGEST_BACKLOG)
