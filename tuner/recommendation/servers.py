"""Servers laid side by side: without batching, as people start, and as tuned, on the same requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.batched import ServedBy
from tuner.replay.batcher import FIFO, Batcher
from tuner.replay.capacity import capacity
from tuner.replay.concurrency import Concurrency
from tuner.replay.queueing import Server, Service, replay
from tuner.search.executed_sets import ProfileCells
from tuner.search.fixed_point import BatchingProblem, FixedPoint, fixed_point, value_of
from tuner.traffic.arrivals import Arrivals

ONE_MODEL = "one_model"
MODEL_PER_PROFILE = "model_per_profile"
LEAST_GAIN = 0.01
"""Share of the objective that a less simple server has to gain on the requests that decide."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Requests to tune on and those held out, the profiles that may serve them, and how contexts share."""

    tune: Arrivals
    holdout: Arrivals | None
    cells: ProfileCells
    contexts: int
    concurrency: Concurrency
    wanted: Any

    @property
    def deciding(self) -> Arrivals:
        return self.holdout if self.holdout is not None else self.tune

    def server(self, batcher: Batcher) -> Server:
        return Server(batcher=batcher, contexts=self.contexts, concurrency=self.concurrency)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Every server on the requests that decide, and the one to choose with how it was tuned."""

    servers: tuple[ServedBy, ...]
    chosen: ServedBy
    batcher: Batcher
    found: FixedPoint


def compared_servers(
    field: Field, problem: BatchingProblem, default: Batcher, tuned: tuple[Batcher, FixedPoint]
) -> Compared:
    """The tuned batcher has to beat Triton's defaults where both were not tuned: on the later requests.

    So has an engine for each profile to beat one with all. What is simpler stays where less than
    `LEAST_GAIN` is gained.
    """
    batcher, found = tuned
    if batcher.kind == "fifo":
        only = _served(field, "no batching", found.judged.rows, FIFO)
        return Compared((only,), only, batcher, found)
    plain = fixed_point(problem, field.server(default))
    alone = fixed_point(problem, field.server(FIFO)).judged.rows
    entered = [
        (_served(field, "tuned profiles, Triton's defaults", plain.judged.rows, default), default, plain),
        (_served(field, "tuned together", found.judged.rows, batcher), batcher, found),
    ]
    if len(found.judged.rows) > 1:
        entered.append((_model_per_profile(field, found.judged.rows, batcher, found), batcher, found))
    best = entered[0]
    for other in entered[1:]:
        if _is_better(problem.objective, other[0], best[0]):
            best = other
    servers = (
        _served(field, "no batching", alone, FIFO),
        _by_rule_max(field, default),
        *(served for served, _, _ in entered),
    )
    return Compared(servers, *best)


def _is_better(objective: str, ours: ServedBy, theirs: ServedBy) -> bool:
    old = value_of(objective, theirs.replay, theirs.capacity)
    return value_of(objective, ours.replay, ours.capacity) < old - LEAST_GAIN * abs(old)


def served_by_nearest(field: Field, profiles: ProfileSet, batcher: Batcher, arrivals: Arrivals) -> ServedBy:
    """Given profiles, each judged by the measured one with the nearest opt, under the log's own load."""
    rows = [_nearest_row(field.cells, profile.opt) for profile in profiles]
    service = Service(field.cells.sizes, field.cells.served(rows)[None])
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
    return _served(field, "rule max, Triton's defaults", (row,), default, judged_at=mark)


def _nearest_row(cells: ProfileCells, opt: Size) -> int:
    opts = np.log(np.maximum([profile.opt.values for profile in cells.profiles], 0.5))
    return int(np.abs(opts - np.log(np.maximum(opt.values, 0.5))).sum(axis=1).argmin())


def _marks(cells: ProfileCells, profiles: ProfileSet, rows: Sequence[int]) -> str | None:
    used = [cells.profiles.profiles[row].opt for row in rows]
    if all(opt == profile.opt for opt, profile in zip(used, profiles, strict=True)):
        return None
    return "nearest:" + "+".join(opt.short for opt in used)


def _served(
    field: Field, name: str, rows: Sequence[int], batcher: Batcher, *, judged_at: str | None = None
) -> ServedBy:
    service = Service(field.cells.sizes, field.cells.served(rows)[None])
    return _replayed(field, (name, ONE_MODEL, judged_at), rows, (service, batcher))


def _model_per_profile(field: Field, rows: Sequence[int], batcher: Batcher, found: FixedPoint) -> ServedBy:
    """An engine for each profile; the client sends a size where the batches that are made cost least."""
    latency = field.cells.latency_ms[list(rows)]
    lanes = client_lanes(field, latency, found)
    service = Service(field.cells.sizes, latency, lanes)
    return _replayed(
        field, ("tuned together, a model for each profile", MODEL_PER_PROFILE, None), rows, (service, batcher)
    )


def client_lanes(field: Field, latency_ms: NDArray[np.float64], found: FixedPoint) -> NDArray[np.int64]:
    """The lane of each size of the arrivals, shape (distinct sizes,)."""
    weights = found.judged.executed.sum(axis=0).astype(np.float64)
    cost = np.where(np.isfinite(latency_ms), latency_ms, np.inf)[:, :, 1:] @ weights[1:]
    arrivals, sizes = field.deciding, field.cells.sizes
    lanes = np.zeros(len(arrivals.sizes), dtype=np.int64)
    columns = [arrivals.axes.index(axis) for axis in sizes.other_axes]
    occurring = arrivals.occurring
    cells = sizes.places(arrivals.sizes[occurring][:, columns]) @ sizes.strides
    lanes[occurring] = cost[:, cells].argmin(axis=0)
    return lanes


def _replayed(
    field: Field,
    naming: tuple[str, str, str | None],
    rows: Sequence[int],
    serving: tuple[Service, Batcher],
) -> ServedBy:
    (name, deployment, judged_at), (service, batcher) = naming, serving
    server, wanted = field.server(batcher), field.wanted
    limit = wanted.limit
    return ServedBy(
        name=name,
        profiles=ProfileSet(tuple(field.cells.profiles.profiles[row] for row in rows)),
        batcher=batcher,
        deployment=deployment,
        replay=replay(field.deciding, service, server, limit, load=wanted.load),
        capacity=None if limit is None else capacity(field.deciding, service, server, limit),
        judged_at=judged_at,
    )
