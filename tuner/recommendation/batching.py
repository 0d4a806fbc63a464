"""Tunes profiles and batcher settings together on single requests, and compares other servers with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.batched import Batching, ServedBy
from tuner.recommendation.scored import RecommendSettings
from tuner.recommendation.servers import (
    MODEL_PER_PROFILE,
    Entry,
    Field,
    compared_servers,
    entries_of,
    served_by_nearest,
)
from tuner.recommendation.single_requests import within_reach
from tuner.replay.batcher import FIFO, Batcher
from tuner.replay.calibration import Calibration, calibration
from tuner.replay.changes import changes_of
from tuner.replay.concurrency import SHARED, Concurrency
from tuner.replay.coverage import Coverage
from tuner.replay.response import ResponseLimit
from tuner.replay.service_time import executed_sizes
from tuner.search.batching import DEFAULT_TRIALS, BatcherSpace, default_batcher, tune_jointly
from tuner.search.client_routing import lanes_of
from tuner.search.executed_sets import ProfileCells, profile_cells
from tuner.search.fixed_point import BatchingProblem, fixed_point
from tuner.traffic.arrivals import Arrivals
from tuner.traffic.traffic import HOLDOUT_SHARE, Traffic

Progress = Callable[[int, int], None]
LEAST_GAIN_OF_A_PROFILE = 0.01
"""Share of GPU time that one more profile has to save; less lies within the spread between builds."""
LISTED_SIZES = 2_000
"""Sizes that a client's routing lists at most, the heaviest ones."""
FEWEST_HELD_OUT = 100
"""Requests that a holdout needs; of fewer no percentile is worth anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """What is wanted of a batcher: its kind, the server it stands in, and what it is judged by.

    `max_batch` limits the batches that are tried. `deployed` is the set that the log's own response times
    come from, `deployed_batcher` what stood before it (None: Triton's defaults, or nothing for `fifo`).
    """

    kind: str
    objective: str = "response_p99"
    limit: ResponseLimit | None = None
    load: float = 1.0
    contexts: int = 1
    concurrency: Concurrency = SHARED
    unlike_shapes: str = "separate"
    max_batch: int | None = None
    trials: int = DEFAULT_TRIALS
    deployed: ProfileSet | None = None
    deployed_batcher: Batcher | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tuned:
    """The outcome with all that a recommendation is made of; `measured` are the chosen profiles in order."""

    batching: Batching
    coverage: Coverage
    measured: tuple[MeasuredProfile, ...]
    field: Field
    entry: Entry
    is_deployed_known: bool


def tune_batching(
    requests: tuple[Traffic, Arrivals],
    measured: Sequence[MeasuredProfile],
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
    progress: Progress | None = None,
) -> Tuned:
    """Tune to the earlier part of the arrivals, judge on the later part.

    The requests are given as traffic, for its account of them, and one by one. `measured` are the profiles
    to choose from. Raises NothingFeasible where none serves the requests.
    """
    (traffic, arrivals), (recommend, batching) = requests, settings
    if source.model.batch_axis is None and batching.kind == "triton":
        raise TunerError(
            f"model {source.model.name} has no batch axis that all its inputs share, so Triton cannot batch "
            "it; use --batcher fifo"
        )
    curves = [m.curve(recommend.search.mode) for m in measured]
    kept, coverage = within_reach(traffic, arrivals, curves, recommend)
    cells = _cells(kept, curves, source, (recommend, batching))
    field = field_of(_split(kept), cells, batching)
    space = _space(field, batching)
    problem = _problem(field, recommend, batching)
    default = default_batcher(space)
    if batching.kind == "fifo":
        entries: Sequence[Entry] = [Entry("no batching", FIFO, fixed_point(problem, field.server(FIFO)))]
        tried, cycles = 1, 0
    else:
        seed = recommend.search.seed
        joint = tune_jointly(problem, space, trials=batching.trials, seed=seed, progress=progress)
        entries = entries_of(problem, field, default, joint)
        tried, cycles = len(joint.trials), joint.cycle_count
    compared = compared_servers(field, problem, default, entries)
    chosen, entry = compared.chosen, compared.entry
    by_profile = {m.profile: m for m in measured}
    return Tuned(
        batching=Batching(
            chosen=chosen,
            others=compared.servers,
            server=field.server(entry.batcher),
            objective=batching.objective,
            limit=batching.limit,
            load=batching.load,
            arrival_rate_rps=kept.rate_rps * batching.load,
            outcome=entry.found.outcome,
            iterations=entry.found.iterations,
            trial_count=tried,
            cycle_count=cycles,
            largest_rounding=cells.sizes.largest_rounding(kept),
            calibration=_calibration(field, kept, space, batching),
            client_routing=_client_routing(entry, cells, kept),
            notes=kept.notes,
        ),
        coverage=coverage,
        measured=tuple(by_profile[profile] for profile in chosen.profiles),
        field=field,
        entry=entry,
        is_deployed_known=batching.deployed is not None,
    )


def _cells(
    kept: Arrivals,
    curves: Sequence[Curve],
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
) -> ProfileCells:
    """The service times of every profile that serves as much as any other does."""
    recommend, batching = settings
    axis = source.model.batch_axis
    largest = 1
    if axis is not None:
        at = kept.axes.index(axis)
        largest = int(max(curve.sizes[:, at].max() for curve in curves))
        asked = int(kept.values(axis).max()) if batching.kind == "fifo" else batching.max_batch or largest
        largest = min(largest, asked)
    sizes = executed_sizes(kept, axis, largest)
    table = profile_cells(
        sizes,
        curves,
        source.model,
        nearest_opt=batching.kind == "triton",
        changes=changes_of(source.facts, recommend.search.mode),
    )
    served = np.isfinite(table.latency_ms).sum(axis=(1, 2))
    return table.of([int(row) for row in np.flatnonzero(served == served.max())])


def field_of(
    parts: tuple[Arrivals, Arrivals | None], cells: ProfileCells, batching: BatchingSettings
) -> Field:
    """The requests to tune on and to decide by, with the server that the settings ask for."""
    return Field(
        tune=parts[0],
        holdout=parts[1],
        cells=cells,
        contexts=batching.contexts,
        concurrency=batching.concurrency,
        load=batching.load,
        limit=batching.limit,
    )


def _split(kept: Arrivals) -> tuple[Arrivals, Arrivals | None]:
    """The part to tune on and the later part, None where it would be too short."""
    cut = round(len(kept) * (1 - HOLDOUT_SHARE))
    if len(kept) - cut < FEWEST_HELD_OUT:
        return kept, None
    return kept.part(0, cut), kept.part(cut, len(kept))


def _space(field: Field, batching: BatchingSettings) -> BatcherSpace:
    return BatcherSpace(
        largest_batch=field.cells.largest_batch(),
        contexts=batching.contexts,
        concurrency=batching.concurrency,
        unlike_shapes=batching.unlike_shapes,
    )


def _problem(field: Field, recommend: RecommendSettings, batching: BatchingSettings) -> BatchingProblem:
    return BatchingProblem(
        arrivals=field.tune,
        cells=field.cells,
        objective=batching.objective,
        limit=batching.limit,
        load=batching.load,
        max_profiles=recommend.search.max_profiles,
        exactly=recommend.profiles,
        least_gain=LEAST_GAIN_OF_A_PROFILE,
    )


def _client_routing(entry: Entry, cells: ProfileCells, kept: Arrivals) -> dict[Size, int] | None:
    """The heaviest sizes that are asked for, with the profile whose model they are sent to."""
    if entry.deployment != MODEL_PER_PROFILE:
        return None
    counts = np.bincount(kept.size_rows, minlength=len(kept.sizes))
    heaviest = np.sort(np.argsort(-counts, kind="stable")[: min(LISTED_SIZES, int((counts > 0).sum()))])
    judged = entry.found.judged
    lanes = lanes_of(cells, judged.rows, judged.executed, kept.sizes[heaviest])
    rows = zip(kept.sizes[heaviest].tolist(), lanes.tolist(), strict=True)
    return {Size(kept.axes, tuple(values)): lane for values, lane in rows}


def _calibration(
    field: Field, kept: Arrivals, space: BatcherSpace, batching: BatchingSettings
) -> Calibration | None:
    """The log's response times beside those of the deployed set with the log's own load."""
    if kept.latency_ms is None or batching.deployed is None:
        return None
    usual = FIFO if batching.kind == "fifo" else default_batcher(space)
    batcher = batching.deployed_batcher or usual
    played: ServedBy = served_by_nearest(field, batching.deployed, batcher, kept)
    return calibration(kept.latency_ms, played.replay)
