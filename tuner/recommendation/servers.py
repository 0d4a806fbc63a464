"""Servers laid side by side: without batching, as people start, and as tuned, on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.axes import Size
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.batched import ServedBy
from tuner.replay.batcher import FIFO, Batcher
from tuner.replay.capacity import capacity
from tuner.replay.concurrency import Concurrency
from tuner.replay.queueing import Server, Service, replay
from tuner.replay.response import ResponseLimit
from tuner.search.batching import JointTuning
from tuner.search.client_routing import split_service
from tuner.search.executed_sets import ProfileCells
from tuner.search.fixed_point import BatchingProblem, FixedPoint, fixed_point, value_of
from tuner.traffic.arrivals import Arrivals

ONE_MODEL = "one_model"
MODEL_PER_PROFILE = "model_per_profile"
LEAST_GAIN = 0.01
"""Share of the objective that a less simple server has to gain on the requests that decide."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Requests to tune on and those held out, the profiles that may serve them, and the server around them.

    `load` is the factor on the rate of the requests, `limit` what capacity is judged under.
    """

    tune: Arrivals
    holdout: Arrivals | None
    cells: ProfileCells
    contexts: int
    concurrency: Concurrency
    load: float
    limit: ResponseLimit | None

    @property
    def deciding(self) -> Arrivals:
        return self.holdout if self.holdout is not None else self.tune

    def server(self, batcher: Batcher) -> Server:
        return Server(batcher=batcher, contexts=self.contexts, concurrency=self.concurrency)


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A tuned server: its batcher, the set at its fixed point, and how that is deployed."""

    name: str
    batcher: Batcher
    found: FixedPoint
    deployment: str = ONE_MODEL

    def service(self, cells: ProfileCells, arrivals: Arrivals) -> Service:
        """Its service times for these arrivals."""
        judged = self.found.judged
        if self.deployment == MODEL_PER_PROFILE:
            return split_service(cells, judged.rows, judged.executed, arrivals)
        return cells.service(judged.rows)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Every server on the requests that decide, and the one to choose with how it was tuned."""

    servers: tuple[ServedBy, ...]
    chosen: ServedBy
    entry: Entry


def entries_of(
    problem: BatchingProblem, field: Field, default: Batcher, joint: JointTuning
) -> tuple[Entry, ...]:
    """What was tuned, the simplest first: under Triton's defaults, then together with the batcher."""
    plain = fixed_point(problem, field.server(default))
    entries = [
        Entry("tuned profiles, Triton's defaults", default, plain),
        Entry("tuned together", joint.best.batcher, joint.best.found),
    ]
    if joint.best_split is not None:
        name = "tuned together, a model for each profile"
        split = joint.best_split
        entries.append(Entry(name, split.batcher, split.found, MODEL_PER_PROFILE))
    return tuple(entries)


def compared_servers(
    field: Field, problem: BatchingProblem, default: Batcher, entries: Sequence[Entry]
) -> Compared:
    """The entries beside servers as people start with.

    An entry has to beat those before it where none was tuned: on the later requests. What is simpler stays
    where less than `LEAST_GAIN` is gained.
    """
    tuned = [(_entered(field, entry), entry) for entry in entries]
    best = tuned[0]
    for other in tuned[1:]:
        if _is_better(problem.objective, other[0], best[0]):
            best = other
    started: tuple[ServedBy, ...] = ()
    if entries[0].batcher.kind == "triton":
        alone = fixed_point(problem, field.server(FIFO)).judged.rows
        started = (served(field, "no batching", alone, FIFO), _by_rule_max(field, default))
    return Compared((*started, *(one for one, _ in tuned)), *best)


def _entered(field: Field, entry: Entry) -> ServedBy:
    service = entry.service(field.cells, field.deciding)
    naming = (entry.name, entry.deployment, None)
    return _replayed(field, naming, entry.found.judged.rows, (service, entry.batcher))


def _is_better(objective: str, ours: ServedBy, theirs: ServedBy) -> bool:
    old = value_of(objective, theirs.replay, theirs.capacity)
    return value_of(objective, ours.replay, ours.capacity) < old - LEAST_GAIN * abs(old)


def served_by_nearest(field: Field, profiles: ProfileSet, batcher: Batcher, arrivals: Arrivals) -> ServedBy:
    """Given profiles, each judged by the measured one with the nearest opt, under the log's own load."""
    rows = [_nearest_row(field.cells, profile.opt) for profile in profiles]
    service = field.cells.service(rows)
    return ServedBy(
        name="deployed",
        profiles=profiles,
        batcher=batcher,
        deployment=ONE_MODEL,
        replay=replay(arrivals, service, field.server(batcher)),
        capacity=None,
        judged_at=_marks(field.cells, profiles, rows),
    )


def _by_rule_max(field: Field, default: Batcher) -> ServedBy:
    """One profile with its opt at the largest size, as most tools set it."""
    sizes = field.cells.sizes
    values = dict(zip(sizes.other_axes, (int(ticks[-1]) for ticks in sizes.ticks), strict=True))
    largest = Size(sizes.axes, tuple(values.get(axis, default.max_batch) for axis in sizes.axes))
    row = _nearest_row(field.cells, largest)
    opt = field.cells.profiles.profiles[row].opt
    mark = None if opt == largest else f"nearest:{opt.short}"
    return served(field, "rule max, Triton's defaults", (row,), default, judged_at=mark)


def _nearest_row(cells: ProfileCells, opt: Size) -> int:
    opts = logarithms([profile.opt.values for profile in cells.profiles])
    return int(np.abs(opts - logarithms(opt.values)).sum(axis=1).argmin())


def _marks(cells: ProfileCells, profiles: ProfileSet, rows: Sequence[int]) -> str | None:
    used = [cells.profiles.profiles[row].opt for row in rows]
    if all(opt == profile.opt for opt, profile in zip(used, profiles, strict=True)):
        return None
    return "nearest:" + "+".join(opt.short for opt in used)


def served(
    field: Field, name: str, rows: Sequence[int], batcher: Batcher, *, judged_at: str | None = None
) -> ServedBy:
    """A set as one model behind a batcher, on the requests that decide."""
    service = field.cells.service(rows)
    return _replayed(field, (name, ONE_MODEL, judged_at), rows, (service, batcher))


def _replayed(
    field: Field,
    naming: tuple[str, str, str | None],
    rows: Sequence[int],
    serving: tuple[Service, Batcher],
) -> ServedBy:
    (name, deployment, judged_at), (service, batcher) = naming, serving
    server, limit = field.server(batcher), field.limit
    return ServedBy(
        name=name,
        profiles=ProfileSet(tuple(field.cells.profiles.profiles[row] for row in rows)),
        batcher=batcher,
        deployment=deployment,
        replay=replay(field.deciding, service, server, limit, load=field.load),
        capacity=None if limit is None else capacity(field.deciding, service, server, limit),
        judged_at=judged_at,
    )
