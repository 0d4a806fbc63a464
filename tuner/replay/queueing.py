"""Replays single requests through queue, batcher and execution contexts: an open loop of logged arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.replay import response
from tuner.replay.batcher import Batcher
from tuner.replay.changes import FREE, ChangeCosts
from tuner.replay.concurrency import SHARED, Concurrency
from tuner.replay.response import Charged, QueueReplay, ResponseLimit
from tuner.replay.running import Finished, Running
from tuner.replay.service_time import ExecutedSizes, not_served
from tuner.traffic.arrivals import Arrivals
from tuner.traffic.histogram import SizeHistogram

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

PARTS = 20
"""Stretches of equal request count in which a replay keeps account of how busy the GPU was."""
FEWEST_IN_PARTS = 100
"""Requests below which nothing is said about a growing queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The batcher, how many execution contexts (instances) each model has, and how they share the GPU."""

    batcher: Batcher
    contexts: int = 1
    concurrency: Concurrency = SHARED

    def __post_init__(self) -> None:
        if self.contexts < 1:
            raise TunerError(f"--contexts is {self.contexts}; a whole number from 1 up is accepted")


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """Service times in ms, shape (lanes, cells, max_batch + 1), over `sizes`.

    A lane is a model of its own with its own queue. `lane_of_size`, shape (distinct sizes of the arrivals,),
    is where the client sends each size; None where there is one lane. `profile_index`, of the shape of the
    service times, is the profile that serves each entry; None where each lane has one. What `changes` cost
    comes on top, by what the execution's own context executed before.
    """

    sizes: ExecutedSizes
    latency_ms: NDArray[np.float64]
    lane_of_size: Int64Array | None = None
    profile_index: NDArray[np.int64] | None = None
    changes: ChangeCosts = FREE

    def __post_init__(self) -> None:
        if self.profile_index is not None and self.profile_index.shape != self.latency_ms.shape:
            raise TunerError(
                f"profile indices have shape {self.profile_index.shape}; that of the service times, "
                f"{self.latency_ms.shape}, is accepted"
            )


def replay(
    arrivals: Arrivals,
    service: Service,
    server: Server,
    limit: ResponseLimit | None = None,
    *,
    load: float = 1.0,
) -> QueueReplay:
    """Play the arrivals with their logged times divided by `load`.

    Raises TunerError for a size that no profile serves, for requests larger than the maximum batch, and
    without numba.
    """
    if not load > 0:
        raise TunerError(f"--load is {load:g}; a factor above zero is accepted")
    _check_batches(arrivals, service, server)
    played = [_segment(arrivals, service, server, rows, load) for rows in arrivals.segments]
    return _summary(arrivals, service, played, limit)


@dataclass(frozen=True, slots=True, eq=False)
class _Played:
    """A segment's requests and stretches, executions by entry of the service table, and charged changes."""

    done: Finished
    parts: list[response.Part]
    executed: Int64Array
    changed: Int64Array


def _check_batches(arrivals: Arrivals, service: Service, server: Server) -> None:
    axis = service.sizes.batch_axis
    if axis is None:
        return
    largest = int(arrivals.values(axis).max())
    allowed = service.sizes.max_batch
    if server.batcher.kind == "triton":
        allowed = min(allowed, server.batcher.max_batch)
    if largest > allowed:
        raise TunerError(
            f"a request has {axis} {largest}, but the batcher executes {allowed} at most; raise the maximum "
            f"batch or leave such requests out with --cap {axis}={allowed}"
        )


def _segment(
    arrivals: Arrivals, service: Service, server: Server, rows: tuple[int, int], load: float
) -> _Played:
    start, stop = rows
    arrival_s = arrivals.arrival_s[start:stop] / load
    size_rows = arrivals.size_rows[start:stop]
    running = Running(arrivals, service, server)
    lanes = None if service.lane_of_size is None else service.lane_of_size[size_rows]
    running.load(arrival_s, size_rows, lanes)
    bounds = np.linspace(0, stop - start, PARTS + 1).astype(int)
    ends = [float(arrival_s[bound - 1]) for bound in bounds[1:]] if stop - start >= FEWEST_IN_PARTS else []
    busy = [0.0]
    for end in ends:
        running.advance(end)
        busy.append(running.busy_s(end))
    running.advance(np.inf)
    if running.not_served:
        _refuse(service.sizes, service.latency_ms, running.executed)
    done = running.finished()
    waiting = done.start_s - done.arrival_s
    stretches = []
    for i, end in enumerate(ends):
        length = end - (ends[i - 1] if i else float(arrival_s[0]))
        share = (busy[i + 1] - busy[i]) / length if length > 0 else 1.0
        stretches.append(response.Part(share, float(waiting[bounds[i] : bounds[i + 1]].mean())))
    return _Played(done, stretches, running.executed, running.changed)


def _refuse(sizes: ExecutedSizes, latency_ms: FloatArray, executed: Int64Array) -> None:
    lane, cell, batch = np.argwhere((executed > 0) & ~np.isfinite(latency_ms))[0].tolist()
    where = f" of model {lane}" if len(latency_ms) > 1 else ""
    raise TunerError(
        f"the batcher would execute {not_served(sizes, cell, batch)}, which no profile{where} serves; limit "
        "the maximum batch, or leave such requests out with --cap"
    )


def _summary(
    arrivals: Arrivals, service: Service, played: list[_Played], limit: ResponseLimit | None
) -> QueueReplay:
    finished = [p.done for p in played]
    answered = np.concatenate([f.finish_s - f.arrival_s for f in finished])
    waiting = np.concatenate([f.start_s - f.arrival_s for f in finished])
    span = sum(float(f.finish_s.max() - f.arrival_s[0]) for f in finished)
    busy = sum(f.busy_s for f in finished)
    histogram = executed_histogram(service.sizes, np.sum([p.executed for p in played], axis=0))
    backlog = sum(float(f.finish_s.max() - f.arrival_s[-1]) for f in finished) / span if span > 0 else 0.0
    overloaded = response.is_growing([part for p in played for part in p.parts], backlog)
    good = int((answered * 1000 <= limit.limit_ms).sum()) if limit else None
    asked = float(np.prod(arrivals.sizes.astype(np.float64), axis=1)[arrivals.size_rows].sum())
    return QueueReplay(
        request_count=len(answered),
        span_s=span,
        response_ms={} if overloaded else response.percentiles_ms(answered),
        waiting_ms={} if overloaded else response.percentiles_ms(waiting),
        mean_response_ms=float(answered.mean()) * 1000,
        mean_waiting_ms=float(waiting.mean()) * 1000,
        throughput_rps=len(answered) / span if span > 0 else float("inf"),
        goodput_rps=None if good is None else good / span if span > 0 else float("inf"),
        busy_share=busy / span if span > 0 else 1.0,
        executed=histogram,
        mean_batch=len(answered) / histogram.request_count,
        padding_ratio=histogram.total_work / asked - 1 if asked else 0.0,
        queue_lengths=response.queue_lengths(finished[0].arrival_s, finished[0].start_s),
        is_overloaded=overloaded,
        exceedance=response.exceedance(answered, limit.limit_ms) if limit else (),
        charged=_charged(service.changes, played, histogram.request_count),
    )


def _charged(changes: ChangeCosts, played: list[_Played], executions: int) -> Charged | None:
    if changes.are_free:
        return None
    of_size, of_profile = np.sum([p.changed for p in played], axis=0).tolist()
    return Charged(changes, of_size / executions, of_profile / executions)


def executed_histogram(sizes: ExecutedSizes, executed: Int64Array) -> SizeHistogram:
    """Executions by size, over all lanes; `executed` has the shape of the service times."""
    counts = executed.sum(axis=0)[:, 1:].reshape(-1)
    used = counts > 0
    return SizeHistogram(sizes.axes, sizes.rows()[used], counts[used])
