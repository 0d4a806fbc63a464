"""One replay in progress: sets up the arrays that compiled code works on, and feeds it requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tuner.replay import queue_state as at
from tuner.replay.batcher import UNLIKE_SHAPES, Batcher
from tuner.replay.changes import ChangeCosts
from tuner.replay.queue_state import Simulation
from tuner.replay.service_time import ExecutedSizes
from tuner.traffic.arrivals import Arrivals

if TYPE_CHECKING:
    from tuner.replay.queueing import Server, Service

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """Requests in arrival order with the times of their life in seconds, and how long the GPU was busy."""

    arrival_s: FloatArray
    start_s: FloatArray
    finish_s: FloatArray
    busy_s: float


class Running:
    """The replay of one stretch of arrivals. `load` takes its requests, `advance` plays them.

    A stream is fed piece by piece with `load`, `advance` to the last arrival, `take_finished`; requests that
    are not finished stay.
    """

    def __init__(self, arrivals: Arrivals, service: Service, server: Server) -> None:
        from tuner.replay.queue_kernel import (
            advance,  # compiles on the first call ever, then is read from disk
        )

        self._advance = advance
        shapes = _shapes(arrivals, service.sizes)
        self._shape_of_size, self._batch_of_size = shapes.shape_of_size, shapes.batch_of_size
        self.sim = _empty(shapes, service, server)
        self._order: Int64Array | None = None

    def busy_s(self, until_s: float | None = None) -> float:
        """Seconds in which the GPU was busy, up to a time that was played to or to the last event."""
        settled, running = float(self.sim.gpu[at.SETTLED]), self.sim.gpu[at.IN_FLIGHT] > 0
        open_s = until_s - settled if until_s is not None and running else 0.0
        return float(self.sim.gpu[at.BUSY_S]) + max(open_s, 0.0)

    @property
    def not_served(self) -> bool:
        return bool(self.sim.gpu[at.NOT_SERVED])

    @property
    def executed(self) -> Int64Array:
        return self.sim.executed

    @property
    def changed(self) -> Int64Array:
        """Executions that were charged: after another size, and after another profile."""
        return self.sim.changed

    def load(self, arrival_s: FloatArray, size_rows: Int64Array, lanes: Int64Array | None = None) -> None:
        """Add requests after all those known so far; several lanes can only be loaded at once."""
        lane_count = len(self.sim.lane)
        if lanes is not None and lane_count > 1:
            self._order = np.argsort(lanes, kind="stable")
            arrival_s, size_rows = arrival_s[self._order], size_rows[self._order]
            stops = np.searchsorted(lanes[self._order], np.arange(lane_count), side="right")
            self.sim.lane[:, at.STOP] = stops
            firsts = np.concatenate([[0], stops[:-1]])
            self.sim.lane[:, at.CURSOR] = firsts
            self.sim.lane[:, at.HEAD] = firsts
        else:
            self.sim.lane[0, at.STOP] += len(arrival_s)
        unknown = np.full(len(arrival_s), np.nan)
        self.sim = self.sim._replace(
            arrival_s=np.concatenate([self.sim.arrival_s, arrival_s]),
            shape=np.concatenate([self.sim.shape, self._shape_of_size[size_rows]]),
            batch=np.concatenate([self.sim.batch, self._batch_of_size[size_rows]]),
            start_s=np.concatenate([self.sim.start_s, unknown]),
            finish_s=np.concatenate([self.sim.finish_s, unknown]),
        )

    def advance(self, until_s: float) -> None:
        """Play all events before that time."""
        self._advance(self.sim, until_s)

    def finished(self) -> Finished:
        """All requests, in arrival order; to be called once everything is played."""
        columns = (self.sim.arrival_s, self.sim.start_s, self.sim.finish_s)
        if self._order is not None:
            back = np.argsort(self._order, kind="stable")
            columns = (columns[0][back], columns[1][back], columns[2][back])
        return Finished(*columns, self.busy_s())

    def take_finished(self) -> Finished:
        """The requests before the first unfinished one, which are forgotten here; for a single lane."""
        sim = self.sim
        running = np.isfinite(sim.remaining_s)
        ring = [(int(sim.lane[0, at.RING_FIRST]) + i) % sim.ring.shape[1] for i in range(self._ring_count)]
        firsts = [int(sim.lane[0, at.HEAD]), *sim.ring[0, ring, at.FIRST], *sim.context[running, at.FIRST]]
        done = int(min(firsts))
        taken = Finished(sim.arrival_s[:done], sim.start_s[:done], sim.finish_s[:done], self.busy_s())
        sim.lane[0, [at.CURSOR, at.STOP, at.HEAD]] -= done
        sim.ring[0, :, :2] -= done
        sim.context[:, :2] -= done
        self.sim = sim._replace(
            arrival_s=sim.arrival_s[done:],
            shape=sim.shape[done:],
            batch=sim.batch[done:],
            start_s=sim.start_s[done:],
            finish_s=sim.finish_s[done:],
        )
        return taken

    @property
    def _ring_count(self) -> int:
        return int(self.sim.lane[0, at.RING_COUNT])


@dataclass(frozen=True, slots=True, eq=False)
class _Shapes:
    """The distinct shapes (sizes without their batch) of the arrivals."""

    shape_of_size: Int64Array
    batch_of_size: Int64Array
    coordinates: Int64Array
    lengths: FloatArray


def _shapes(arrivals: Arrivals, sizes: ExecutedSizes) -> _Shapes:
    columns = [arrivals.axes.index(axis) for axis in sizes.other_axes]
    others, shape_of_size = np.unique(arrivals.sizes[:, columns], axis=0, return_inverse=True)
    batch = np.ones(len(arrivals.sizes), dtype=np.int64)
    if sizes.batch_axis is not None:
        batch = np.ascontiguousarray(arrivals.sizes[:, arrivals.axes.index(sizes.batch_axis)])
    used = np.zeros(len(others), dtype=bool)
    used[shape_of_size.reshape(-1)[arrivals.occurring]] = True
    coordinates = np.zeros((len(others), len(columns)), dtype=np.int64)
    coordinates[used] = sizes.places(others[used])
    return _Shapes(shape_of_size.reshape(-1).astype(np.int64), batch, coordinates, others.astype(np.float64))


def _empty(shapes: _Shapes, service: Service, server: Server) -> Simulation:
    sizes, latency_ms, changes = service.sizes, service.latency_ms, service.changes
    lanes, contexts = len(latency_ms), server.contexts
    lane = np.zeros((lanes, at.LANE_COLUMNS), dtype=np.int64)
    lane[:, at.CONTEXT_FIRST] = np.arange(lanes) * contexts
    lane[:, at.CONTEXT_STOP] = lane[:, at.CONTEXT_FIRST] + contexts
    gpu = np.zeros(at.GPU_COLUMNS)
    gpu[at.NEXT_DONE] = np.inf
    rates = [server.concurrency.rate(max(n, 1)) for n in range(lanes * contexts + 1)]
    preferred, following = _preferred(server.batcher)
    ticks = np.full((max(len(sizes.ticks), 1), max([len(t) for t in sizes.ticks], default=1)), np.inf)
    for axis, values in enumerate(sizes.ticks):
        ticks[axis, : len(values)] = values
    return Simulation(
        arrival_s=np.zeros(0),
        shape=np.zeros(0, dtype=np.int64),
        batch=np.zeros(0, dtype=np.int64),
        start_s=np.zeros(0),
        finish_s=np.zeros(0),
        coordinates=shapes.coordinates,
        lengths=shapes.lengths,
        ticks=ticks,
        strides=sizes.strides,
        service_s=np.where(np.isfinite(latency_ms), latency_ms, np.nan) / 1000,
        profile=_profiles(service),
        change_s=np.array([changes.size_ms, changes.profile_ms]) / 1000,
        changed=np.zeros(2, dtype=np.int64),
        executed=np.zeros(latency_ms.shape, dtype=np.int64),
        lane=lane,
        wake_s=np.full(lanes, np.inf),
        slept_s=np.zeros(lanes),
        ring=np.zeros((lanes, 2 * contexts, at.PAYLOAD_COLUMNS), dtype=np.int64),
        context=np.zeros((lanes * contexts, at.CONTEXT_COLUMNS), dtype=np.int64),
        remaining_s=np.full(lanes * contexts, np.inf),
        rates=np.array(rates),
        gpu=gpu,
        settings=_settings(server.batcher, changes),
        delay_s=server.batcher.max_queue_delay_microseconds / 1e6,
        preferred=preferred,
        next_preferred=following,
    )


def _profiles(service: Service) -> NDArray[np.int64]:
    """The profile of every entry of the service table; nobody looks where changes are free."""
    if service.changes.are_free:
        return np.zeros((1, 1, 1), dtype=np.int64)
    if service.profile_index is None:
        return np.zeros(service.latency_ms.shape, dtype=np.int64)
    return np.ascontiguousarray(service.profile_index, dtype=np.int64)


def _settings(batcher: Batcher, changes: ChangeCosts) -> Int64Array:
    kind = 0 if batcher.kind == "fifo" else 1
    unlike = UNLIKE_SHAPES.index(batcher.unlike_shapes)
    largest = max(batcher.effective_preferred)
    charges = 0 if changes.are_free else 1
    return np.array([kind, batcher.max_batch, largest, unlike, charges], dtype=np.int64)


def _preferred(batcher: Batcher) -> tuple[NDArray[np.bool_], Int64Array]:
    """Whether each batch up to the maximum is preferred, and the next one that is (else the least)."""
    sizes = batcher.effective_preferred
    batches = range(batcher.max_batch + 1)
    following = [next((size for size in sizes if size > batch), sizes[0]) for batch in batches]
    return np.isin(np.arange(batcher.max_batch + 1), sizes), np.array(following, dtype=np.int64)
