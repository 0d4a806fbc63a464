"""Single requests replayed on a document's set, behind the batcher that it names or Triton's defaults."""

from __future__ import annotations

import dataclasses

import numpy as np

from tuner.errors import TunerError
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.routing import opt_distances
from tuner.recommendation.batched import ServedBy
from tuner.recommendation.batching import BatchingSettings, field_of
from tuner.recommendation.deployed import Deployed
from tuner.recommendation.scored import RecommendSettings
from tuner.recommendation.servers import served
from tuner.recommendation.single_requests import within_reach
from tuner.replay.batcher import FIFO, Batcher, triton_default
from tuner.replay.changes import changes_of
from tuner.replay.service_time import executed_sizes, latency_cells
from tuner.search.executed_sets import ProfileCells
from tuner.traffic.arrivals import Arrivals
from tuner.traffic.traffic import Traffic


def replay_requests(
    deployed: Deployed,
    requests: tuple[Traffic, Arrivals],
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
) -> tuple[ServedBy, float]:
    """What clients of the document's set see, and the arrivals a second.

    With Triton the profile of the nearest opt serves; else the fastest does. Raises TunerError for a profile
    whose latencies are not known, and NothingFeasible where it serves none of the requests.
    """
    searching, batching = settings
    measured = _measured(deployed, source, requests[0])
    # Curves as far as the document's own ranges go, and not as far as the engines that were measured.
    curves = [
        dataclasses.replace(one.curve(searching.search.mode), profile=profile)
        for one, profile in zip(measured, deployed.profiles, strict=True)
    ]
    kept, _ = within_reach(*requests, curves, searching)
    axis = source.model.batch_axis
    largest = max(profile.max[axis] for profile in deployed.profiles) if axis is not None else 1
    if batching.kind == "fifo" and axis is not None:
        largest = int(kept.values(axis).max())
    sizes = executed_sizes(kept, axis, min(largest, batching.max_batch or largest))
    distances = None
    if batching.kind == "triton":
        opts = np.array([profile.opt.values for profile in deployed.profiles], dtype=np.int64)
        rows = opt_distances(opts, sizes.rows(), deployed.profiles.axes, source.model)
        distances = np.stack([sizes.table(row) for row in rows])
    latency_ms, changes = latency_cells(sizes, curves), changes_of(source.facts, searching.search.mode)
    cells = ProfileCells(sizes, deployed.profiles, latency_ms, distances, changes)
    field = field_of((kept, None), cells, batching)
    batcher = _batcher(deployed, batching, sizes.max_batch)
    result = served(field, "as written", range(len(deployed.profiles)), batcher)
    return result, kept.rate_rps * batching.load


def _measured(deployed: Deployed, source: ProfileSource, traffic: Traffic) -> list[MeasuredProfile]:
    found = []
    for profile in deployed.profiles:
        outcome = source.measure(profile, traffic.histogram.sizes)
        if not isinstance(outcome, MeasuredProfile):
            raise TunerError(f"profile {profile} of {deployed.document.source}: {outcome.reason}")
        found.append(outcome)
    return found


def _batcher(deployed: Deployed, batching: BatchingSettings, largest: int) -> Batcher:
    if batching.kind == "fifo":
        return FIFO
    written = deployed.document.batcher
    if written is None:
        return triton_default(largest, batching.unlike_shapes)
    return Batcher(
        max_batch=min(written.max_batch, largest),
        preferred_batch_size=tuple(size for size in written.preferred_batch_size if size <= largest),
        max_queue_delay_microseconds=written.max_queue_delay_microseconds,
        unlike_shapes=batching.unlike_shapes,
    )
