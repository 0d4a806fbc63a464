"""The set of profiles that is tuned to the very sizes which the batcher executes on it.

A batcher makes batches that depend on how fast the engine is, and the best engine depends on the batches:
replay and composition take turns until the set stays what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import NothingFeasible, TunerError
from tuner.replay.capacity import Capacity, capacity
from tuner.replay.queueing import Server, Service, replay
from tuner.replay.response import QueueReplay, ResponseLimit
from tuner.search.executed_sets import ExecutedSet, ProfileCells, best_executed_sets
from tuner.traffic.arrivals import Arrivals

BATCHING_OBJECTIVES = ("response_p50", "response_p90", "response_p99", "goodput", "capacity")
NEEDS_LIMIT = ("goodput", "capacity")
LARGEST_ITERATIONS = 20
_OVERLOADED_MS = 1e9
"""What an overloaded replay is worth beside any that keeps up: more, and the more it waits the more."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BatchingProblem:
    """Arrivals, the profiles that may serve them, and what a set with its batcher is judged by.

    `least_gain` is the share by which one more profile has to lower the GPU time. `exactly` asks for so
    many profiles without that rule.
    """

    arrivals: Arrivals
    cells: ProfileCells
    objective: str
    limit: ResponseLimit | None = None
    load: float = 1.0
    max_profiles: int = 3
    exactly: int | None = None
    least_gain: float = 0.01

    def __post_init__(self) -> None:
        if self.objective not in BATCHING_OBJECTIVES:
            raise TunerError(
                f"--objective is '{self.objective}'; with a batcher these are accepted: "
                f"{', '.join(BATCHING_OBJECTIVES)}"
            )
        if self.objective in NEEDS_LIMIT and self.limit is None:
            raise TunerError(
                f"--objective {self.objective} is judged under a limit; give one, like "
                "--slo 'response_p99<=20ms'"
            )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judged:
    """A set under a batcher: less `value` is better. `capacity` is None where the objective needs none."""

    rows: tuple[int, ...]
    value: float
    replay: QueueReplay
    executed: NDArray[np.int64]
    capacity: Capacity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """How the iteration ended: `converged`, or `cycle` whose best member this is; replays it took."""

    judged: Judged
    outcome: str
    iterations: int


def judge(
    problem: BatchingProblem, server: Server, rows: tuple[int, ...], service: Service | None = None
) -> Judged:
    """Replay the arrivals on a set: in one model, or as `service` says."""
    service = service or problem.cells.service(rows)
    found, load = None, problem.load
    if problem.objective == "capacity" and problem.limit is not None:
        found = capacity(problem.arrivals, service, server, problem.limit, with_interval=False)
        load = found.load or problem.load
    played = replay(problem.arrivals, service, server, problem.limit, load=load)
    executed = executions(problem.cells, played)
    value = value_of(problem.objective, played, found)
    return Judged(rows=rows, value=value, replay=played, executed=executed, capacity=found)


def value_of(objective: str, played: QueueReplay, found: Capacity | None) -> float:
    """What a replay is compared by; less is better."""
    if objective == "capacity" and found is not None:
        return -found.rate_rps
    if objective == "goodput":
        # Where all requests are good, the shorter response decides.
        return -(played.goodput_rps or 0.0) + 1e-6 * min(played.mean_response_ms, 1e3)
    if played.is_overloaded:
        return _OVERLOADED_MS + played.mean_response_ms
    return played.response_ms[float(objective.removeprefix("response_p"))]


def executions(cells: ProfileCells, played: QueueReplay) -> NDArray[np.int64]:
    """Executions of a replay in the shape of the table."""
    sizes = cells.sizes
    result = np.zeros((sizes.cell_count, sizes.max_batch + 1), dtype=np.int64)
    rows = {tuple(row): i for i, row in enumerate(sizes.rows().tolist())}
    for row, count in zip(played.executed.sizes.tolist(), played.executed.counts.tolist(), strict=True):
        cell, batch = divmod(rows[tuple(row)], sizes.max_batch)
        result[cell, batch + 1] = count
    return result


def fixed_point(problem: BatchingProblem, server: Server, start: tuple[int, ...] | None = None) -> FixedPoint:
    """Iterate from `start` (else from the profile that is best over all sizes alike) until a set repeats.

    A set that repeats at once is the fixed point. One that comes back later closes a cycle, whose member
    with the best value is taken.
    """
    batch = server.batcher.max_batch if server.batcher.kind == "triton" else 1
    rows = start or _choose(problem, _evenly(problem.cells, batch), batch)
    seen: dict[tuple[int, ...], Judged] = {}
    while rows not in seen and len(seen) < LARGEST_ITERATIONS:
        seen[rows] = judge(problem, server, rows)
        last, rows = rows, _choose(problem, seen[rows].executed, batch)
    if rows == last:
        return FixedPoint(judged=seen[last], outcome="converged", iterations=len(seen))
    order = list(seen)
    members = [seen[m] for m in order[order.index(rows) :]] if rows in seen else list(seen.values())
    return FixedPoint(judged=min(members, key=_by_value), outcome="cycle", iterations=len(seen))


def _by_value(judged: Judged) -> tuple[float, tuple[int, ...]]:
    return (judged.value if math.isfinite(judged.value) else math.inf, judged.rows)


def _evenly(cells: ProfileCells, batch: int) -> NDArray[np.int64]:
    result = np.zeros(cells.latency_ms.shape[1:], dtype=np.int64)
    result[:, 1 : batch + 1] = 1
    return result


def _choose(problem: BatchingProblem, executed: NDArray[np.int64], batch: int) -> tuple[int, ...]:
    """The set for these executions: the fewest profiles that come near the best, or exactly so many."""
    most = problem.exactly or problem.max_profiles
    sets = best_executed_sets(problem.cells, executed, most, batch)
    if problem.exactly is not None:
        sets = [found for found in sets if len(found.rows) == problem.exactly]
    if not sets:
        raise NothingFeasible(
            f"no set of {'exactly' if problem.exactly else 'up to'} {most} measured profiles serves every "
            f"batch up to {batch}; limit it with --max-batch, or measure profiles over that range"
        )
    return _fewest(sets, problem.least_gain).rows


def _fewest(sets: list[ExecutedSet], least_gain: float) -> ExecutedSet:
    chosen = sets[0]
    for found in sets[1:]:
        if found.value_ms < chosen.value_ms * (1 - least_gain):
            chosen = found
    return chosen
