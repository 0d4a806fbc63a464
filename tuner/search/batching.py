"""Joint tuning: the batcher's settings by trial, and for each trial the profile set at its fixed point.

No trial needs a build, so they run in a study of their own beside the one whose trials are builds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import optuna

from tuner.errors import TunerError
from tuner.replay.batcher import Batcher, triton_default
from tuner.replay.concurrency import Concurrency
from tuner.replay.queueing import Server
from tuner.search.client_routing import is_split, split_service
from tuner.search.fixed_point import BatchingProblem, FixedPoint, Judged, fixed_point, judge

PREFERRED = {"none": (), "half": (2,), "quarter": (4,), "quarter and half": (4, 2)}
"""Preferred sizes that are tried, as divisors of the maximum batch."""
DELAYS_PER_DECADE = 4
LEAST_DELAY_US = 100
LARGEST_DELAY_US = 100_000
DEFAULT_TRIALS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class BatcherSpace:
    """What may be tried: batches by doublings up to `largest_batch`, delays up to a limit, one server."""

    largest_batch: int
    contexts: int = 1
    concurrency: Concurrency
    unlike_shapes: str = "separate"
    largest_delay_us: int = LARGEST_DELAY_US

    @property
    def max_batches(self) -> list[int]:
        doublings = [2**i for i in range(self.largest_batch.bit_length()) if 2**i <= self.largest_batch]
        return sorted({*doublings, self.largest_batch})

    @property
    def delays_us(self) -> list[int]:
        steps = range(64)
        grid = [round(LEAST_DELAY_US * 10 ** (step / DELAYS_PER_DECADE)) for step in steps]
        return [0, *[delay for delay in grid if delay <= self.largest_delay_us]]

    def server(self, batcher: Batcher) -> Server:
        return Server(batcher=batcher, contexts=self.contexts, concurrency=self.concurrency)

    def batcher(self, max_batch: int, preferred: str, delay_us: int) -> Batcher:
        sizes = {max_batch // divisor for divisor in PREFERRED[preferred]}
        return Batcher(
            max_batch=max_batch,
            preferred_batch_size=tuple(sorted(size for size in sizes if 1 < size < max_batch)),
            max_queue_delay_microseconds=delay_us,
            unlike_shapes=self.unlike_shapes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatcherTrial:
    """One setting of the batcher and the set that fits it.

    `split` is the same set with a model for each profile; None where that is no choice.
    """

    number: int
    batcher: Batcher
    found: FixedPoint
    split: Judged | None

    @property
    def value(self) -> float:
        """The objective of the better deployment."""
        one = self.found.judged.value
        return one if self.split is None else min(one, self.split.value)


@dataclass(frozen=True, slots=True)
class JointTuning:
    """The best trial with one model, the best with a model for each profile, and all trials in order.

    Equal settings are tried once.
    """

    best: BatcherTrial
    best_split: BatcherTrial | None
    trials: tuple[BatcherTrial, ...]

    @property
    def cycle_count(self) -> int:
        return sum(trial.found.outcome == "cycle" for trial in self.trials)


def tune_jointly(
    problem: BatchingProblem,
    space: BatcherSpace,
    *,
    trials: int = DEFAULT_TRIALS,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> JointTuning:
    """Find the batcher and the set with the best objective. Ties go to the earlier trial: the simpler one.

    Triton's defaults with each maximum batch are tried first, so that nothing is ever worse than they are.
    """
    if space.largest_batch < 1:
        raise TunerError("no measured profile serves even a batch of 1 at every size of these requests")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for first in _first(space):
        study.enqueue_trial(first)
    known: dict[Batcher, BatcherTrial] = {}
    for number in range(trials):
        asked = study.ask()
        batcher = space.batcher(
            asked.suggest_categorical("max_batch", space.max_batches),
            asked.suggest_categorical("preferred", list(PREFERRED)),
            asked.suggest_categorical("delay_us", space.delays_us),
        )
        if batcher not in known:
            found = fixed_point(problem, space.server(batcher))
            known[batcher] = BatcherTrial(
                number=number,
                batcher=batcher,
                found=found,
                split=_split(problem, space.server(batcher), found),
            )
        study.tell(asked, known[batcher].value)
        if progress is not None:
            progress(number + 1, trials)
    ordered = tuple(known.values())
    best = min(ordered, key=lambda trial: trial.found.judged.value)
    split = [(trial.split.value, trial) for trial in ordered if trial.split is not None]
    return JointTuning(best, min(split, key=lambda pair: pair[0])[1] if split else None, ordered)


def _split(problem: BatchingProblem, server: Server, found: FixedPoint) -> Judged | None:
    rows = found.judged.rows
    service = split_service(problem.cells, rows, found.judged.executed, problem.arrivals)
    if len(rows) < 2 or not is_split(service, problem.arrivals):
        return None
    return judge(problem, server, rows, service)


def _first(space: BatcherSpace) -> Iterator[dict[str, object]]:
    for max_batch in reversed(space.max_batches):
        yield {"max_batch": max_batch, "preferred": "none", "delay_us": 0}


def default_batcher(space: BatcherSpace) -> Batcher:
    """Triton's own defaults over the whole range of batches."""
    return triton_default(space.largest_batch, space.unlike_shapes)
