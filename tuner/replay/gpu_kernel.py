"""Compiled: executions on a GPU that all contexts share, and what each of them costs."""

from __future__ import annotations

import numpy as np

from tuner.replay.compiled import compiled
from tuner.replay.queue_state import (
    BATCH,
    BUSY_S,
    CELL,
    CHARGES,
    CONTEXT_FIRST,
    CONTEXT_STOP,
    END,
    FIRST,
    IN_FLIGHT,
    LAST_BATCH,
    NEXT_DONE,
    NOT_SERVED,
    NOW,
    OF_PROFILE,
    OF_SIZE,
    RAGGED,
    SETTLED,
    UNLIKE,
    Simulation,
)


@compiled
def settle(sim: Simulation) -> None:
    """Bring the remaining work of all executions to the present."""
    elapsed = sim.gpu[NOW] - sim.gpu[SETTLED]
    sim.gpu[SETTLED] = sim.gpu[NOW]
    running = int(sim.gpu[IN_FLIGHT])
    if running == 0 or elapsed <= 0.0:
        return
    sim.gpu[BUSY_S] += elapsed
    progress = elapsed * sim.rates[running] / running
    for context in range(len(sim.remaining_s)):
        if sim.remaining_s[context] < np.inf:
            sim.remaining_s[context] -= progress


@compiled
def plan_next_done(sim: Simulation) -> None:
    """When the next execution ends, if none starts before."""
    running = int(sim.gpu[IN_FLIGHT])
    if running == 0:
        sim.gpu[NEXT_DONE] = np.inf
        return
    least = sim.remaining_s[_next_to_end(sim)]
    sim.gpu[NEXT_DONE] = sim.gpu[SETTLED] + max(least, 0.0) * running / sim.rates[running]


@compiled
def _next_to_end(sim: Simulation) -> int:
    found = 0
    for context in range(1, len(sim.remaining_s)):
        if sim.remaining_s[context] < sim.remaining_s[found]:
            found = context
    return found


@compiled
def idle_context(sim: Simulation, lane: int) -> int:
    """A context of the lane without work, -1 where all are busy."""
    for context in range(sim.lane[lane, CONTEXT_FIRST], sim.lane[lane, CONTEXT_STOP]):
        if sim.remaining_s[context] == np.inf:
            return context
    return -1


@compiled
def start(sim: Simulation, lane: int, context: int) -> None:
    """Execute on an idle context now what its row names: first and end request, and their batch."""
    row = sim.context[context]
    first, end, batch = row[FIRST], row[END], row[BATCH]
    cell = cell_of(sim, first, end, batch)
    work_s = sim.service_s[lane, cell, batch]
    if not work_s >= 0.0:  # NaN: no profile serves this size
        sim.gpu[NOT_SERVED] = 1.0
        work_s = 0.0
    if sim.settings[CHARGES] == 1:
        work_s += change_s(sim, lane, context, cell, batch)
    sim.executed[lane, cell, batch] += 1
    settle(sim)
    for request in range(first, end):
        sim.start_s[request] = sim.gpu[NOW]
    row[CELL] = cell
    sim.remaining_s[context] = work_s
    sim.gpu[IN_FLIGHT] += 1
    plan_next_done(sim)


@compiled
def change_s(sim: Simulation, lane: int, context: int, cell: int, batch: int) -> float:
    """What an execution takes longer since its context executed something else before; it is counted."""
    row = sim.context[context]
    last_cell, last_batch = row[CELL], row[LAST_BATCH]
    row[LAST_BATCH] = batch
    if last_batch == 0 or (last_cell == cell and last_batch == batch):
        return 0.0
    is_same = sim.profile[lane, last_cell, last_batch] == sim.profile[lane, cell, batch]
    change = OF_SIZE if is_same else OF_PROFILE
    sim.changed[change] += 1
    return float(sim.change_s[change])


@compiled
def finish(sim: Simulation) -> int:
    """End the execution that is due; the context that it frees."""
    settle(sim)
    context = _next_to_end(sim)
    for request in range(sim.context[context, FIRST], sim.context[context, END]):
        sim.finish_s[request] = sim.gpu[NOW]
    sim.remaining_s[context] = np.inf
    sim.gpu[IN_FLIGHT] -= 1
    plan_next_done(sim)
    return context


@compiled
def cell_of(sim: Simulation, first: int, end: int, batch: int) -> int:
    """The cell of the service table for requests `first` to `end` executed together."""
    if end - first == 1 or sim.settings[UNLIKE] == 0:
        cell = 0
        for axis in range(len(sim.strides)):
            cell += sim.coordinates[sim.shape[first], axis] * sim.strides[axis]
        return cell
    cell = 0
    for axis in range(len(sim.strides)):
        if sim.settings[UNLIKE] == RAGGED:
            tick = _mean_tick(sim, axis, first, end, batch)
        else:
            tick = 0
            for request in range(first, end):
                tick = max(tick, sim.coordinates[sim.shape[request], axis])
        cell += tick * sim.strides[axis]
    return cell


@compiled
def _mean_tick(sim: Simulation, axis: int, first: int, end: int, batch: int) -> int:
    total = 0.0
    for request in range(first, end):
        total += sim.lengths[sim.shape[request], axis] * sim.batch[request]
    # The least tick that holds the mean; a hair of slack, since the mean of equal lengths is that length.
    mean = total / batch - 1e-9
    low, high = 0, sim.ticks.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if sim.ticks[axis, middle] < mean:
            low = middle + 1
        else:
            high = middle
    return low
