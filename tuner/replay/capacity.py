"""How much traffic a GPU carries: the highest load under which a response limit still holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tuner.errors import TunerError
from tuner.replay.queueing import Server, Service, replay
from tuner.replay.response import QueueReplay, ResponseLimit
from tuner.traffic.arrivals import Arrivals

TOLERANCE = 0.01
"""The bisection stops when the load is known to this share."""
LEAST_LOAD = 2.0**-14
"""Factor on the log below which nothing is gained by waiting for fewer requests."""
STANDARD_ERRORS = 2.0
"""Half width of the interval of the share of requests over the limit, in standard errors."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The highest load that meets the limit, as a factor on the log and in requests a second.

    `interval_rps` takes the limit as met, or missed, only where the share of requests over it is clear of
    chance: that share is taken from consecutive parts of the log. `load` is 0 where no load meets the limit,
    since the service alone takes longer.
    """

    load: float
    rate_rps: float
    interval_rps: tuple[float, float]


def capacity(
    arrivals: Arrivals, service: Service, server: Server, limit: ResponseLimit, *, with_interval: bool = True
) -> Capacity:
    """Bisection over the factor by which the logged times are compressed.

    Without its interval, which takes two more bisections, it stands for itself.

    Raises TunerError for a log that has all its requests at one time: its rate cannot be scaled.
    """
    rate = arrivals.rate_rps
    if not math.isfinite(rate):
        raise TunerError("all requests of the log come at one time; a load cannot be scaled from them")
    known: dict[float, QueueReplay] = {}

    def played(load: float) -> QueueReplay:
        if load not in known:
            known[load] = replay(arrivals, service, server, limit, load=load)
        return known[load]

    def highest_with(standard_errors: float) -> float:
        return _highest(lambda load: _share_over(played(load), standard_errors) <= _allowed(limit))

    shifts = (0.0, STANDARD_ERRORS, -STANDARD_ERRORS) if with_interval else (0.0,)
    highest = [highest_with(shift) for shift in shifts]
    low, high = min(highest), max(highest)
    return Capacity(highest[0], highest[0] * rate, (low * rate, high * rate))


def _allowed(limit: ResponseLimit) -> float:
    return 1 - limit.percent / 100


def _share_over(found: QueueReplay, standard_errors: float) -> float:
    """Share of requests over the limit, moved by so many standard errors of its mean over parts."""
    if found.is_overloaded:
        return 1.0
    parts = np.array(found.exceedance)
    error = float(parts.std(ddof=1)) / math.sqrt(len(parts)) if len(parts) > 1 else 0.0
    return float(parts.mean()) + standard_errors * error


def _highest(meets: Callable[[float], bool]) -> float:
    """The highest load that meets, to `TOLERANCE`; 0 where none down to `LEAST_LOAD` does."""
    low, high = 1.0, 1.0
    if meets(1.0):
        while meets(high := 2 * high):
            low = high
    else:
        while not meets(low := low / 2):
            high = low
            if low < LEAST_LOAD:
                return 0.0
    while high / low > 1 + TOLERANCE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
