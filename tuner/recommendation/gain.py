"""What one profile set saves against another on the same traffic, with an interval for all that is noise.

Noise is what another draw of the traffic and another build of the engines would have changed. Traffic is
drawn by blocks of time where its time is known, since requests of one hour resemble each other. Both sets
meet the same draws, and profiles that they share the same builds, so that what is common cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.replay.objective import Load, objective_named
from tuner.replay.score import Judge

REPLICATES = 400
FEWEST_BLOCKS = 6
"""Blocks of time under which drawing them says nothing; sizes are then drawn one by one."""
BUILD_SPREAD = 0.02
"""Standard deviation of a rebuilt profile's latency, as a share: recorded rebuilds lie from -2 to +5 %."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gain:
    """Share of the old set's objective that the new one saves; 95 % of draws lie from `low` to `high`."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """How a set serves the sizes of a judge: the latency in ms and the opt behind each, shape (distinct,).

    Latencies are without what changes cost, which depends on the traffic that is drawn.
    `opts` are the opts of the profiles, `index` the profile of each size.
    """

    latency_ms: FloatArray
    opts: tuple[Size, ...]
    index: NDArray[np.int64]


def gain_between(
    old: Served, new: Served, judge: Judge, seed: int = 0, blocks: FloatArray | None = None
) -> Gain:
    """The gain of the new set over the old one on the judge's traffic.

    `blocks` are the executions of each size in each block of time, shape (blocks, distinct).
    """
    load = judge.load
    random = np.random.default_rng(np.random.SeedSequence([seed, 2]))
    value = 1 - _objective(new, judge, load) / _objective(old, judge, load)
    names = list(dict.fromkeys((*old.opts, *new.opts)))
    rows = [np.array([names.index(opt) for opt in served.opts])[served.index] for served in (old, new)]
    drawn = []
    for _ in range(REPLICATES):
        other = _redrawn(load, random, blocks)
        build = np.exp(random.normal(0.0, BUILD_SPREAD, len(names)))
        before = _objective(old, judge, other, build[rows[0]])
        after = _objective(new, judge, other, build[rows[1]])
        drawn.append(1 - after / before)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Gain(value, float(low), float(high))


def interval_of(
    served: Served, judge: Judge, seed: int = 0, blocks: FloatArray | None = None
) -> tuple[float, float]:
    """Between which values of the objective in ms 95 % of other draws and builds lie."""
    load = judge.load
    random = np.random.default_rng(np.random.SeedSequence([seed, 3]))
    drawn = []
    for _ in range(REPLICATES):
        other = _redrawn(load, random, blocks)
        build = np.exp(random.normal(0.0, BUILD_SPREAD, len(served.opts)))
        drawn.append(_objective(served, judge, other, build[served.index]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


def _objective(served: Served, judge: Judge, load: Load, build: FloatArray | float = 1.0) -> float:
    """The objective on a draw of the judge's traffic, in builds that are slower by a factor of each size.

    Changes are charged by the shares of the draw; what they cost is not taken to differ between builds.
    """
    latency_ms = served.latency_ms * build
    if not judge.changes.are_free:
        latency_ms = latency_ms + judge.changes.charges(load.inferences / load.inferences.sum(), served.index)
    return float(objective_named(judge.objective)(latency_ms, load))


def _redrawn(load: Load, random: np.random.Generator, blocks: FloatArray | None = None) -> Load:
    """The load of another draw of as much traffic: as many blocks with replacement, or size by size."""
    if blocks is not None and len(blocks) >= FEWEST_BLOCKS:
        taken = random.multinomial(len(blocks), np.full(len(blocks), 1 / len(blocks)))
        counts = np.asarray(taken @ blocks, dtype=np.float64)
    else:
        counts = random.poisson(load.inferences).astype(np.float64)
    if not counts.any():
        return load
    factor = counts / load.inferences
    requests = load.requests * factor
    weights = requests if load.weights is load.requests else load.weights * factor
    return Load(counts, requests, weights)
