"""Compiled: the event loop of a replay, from arrival to arrival, over all lanes of one GPU."""

from __future__ import annotations

import numpy as np

from tuner.replay.compiled import compiled
from tuner.replay.gpu_kernel import finish, idle_context, start
from tuner.replay.queue_state import (
    BATCH,
    CONTEXT_FIRST,
    CONTEXT_STOP,
    CURSOR,
    END,
    FIRST,
    HEAD,
    KIND,
    NEXT_DONE,
    NOW,
    QUEUED,
    STOP,
    Simulation,
)
from tuner.replay.triton_kernel import dispatch, is_woken, run_batcher, sleep_on


@compiled
def advance(sim: Simulation, until_s: float) -> None:
    """Play all events before `until_s`; requests that come at that time or later need not be known."""
    while True:
        lane_in, arrives_s = _next_arrival(sim)
        lane_up, wakes_s = _next_waking(sim)
        done_s = sim.gpu[NEXT_DONE]
        now = min(arrives_s, wakes_s, done_s)
        if now >= until_s:
            return
        sim.gpu[NOW] = now
        # Of events at one time an end comes first, so that an arrival finds the context that it frees.
        if done_s <= now:
            _after_end(sim, _lane_of(sim, finish(sim)))
        elif arrives_s <= now:
            _arrive(sim, lane_in)
        else:
            sim.wake_s[lane_up] = np.inf
            run_batcher(sim, lane_up)


@compiled
def _next_arrival(sim: Simulation) -> tuple[int, float]:
    found, at = 0, np.inf
    for lane in range(len(sim.lane)):
        request = sim.lane[lane, CURSOR]
        if request < sim.lane[lane, STOP] and sim.arrival_s[request] < at:
            found, at = lane, sim.arrival_s[request]
    return found, at


@compiled
def _next_waking(sim: Simulation) -> tuple[int, float]:
    found, at = 0, np.inf
    for lane in range(len(sim.lane)):
        if sim.wake_s[lane] < at:
            found, at = lane, sim.wake_s[lane]
    return found, at


@compiled
def _lane_of(sim: Simulation, context: int) -> int:
    lane = 0
    while context >= sim.lane[lane, CONTEXT_STOP] or context < sim.lane[lane, CONTEXT_FIRST]:
        lane += 1
    return lane


@compiled
def _arrive(sim: Simulation, lane: int) -> None:
    sim.lane[lane, QUEUED] += sim.batch[sim.lane[lane, CURSOR]]
    sim.lane[lane, CURSOR] += 1
    if sim.settings[KIND] == 0:
        _dispatch_alone(sim, lane)
    elif is_woken(sim, lane):
        run_batcher(sim, lane)
    else:
        sleep_on(sim, lane)


@compiled
def _after_end(sim: Simulation, lane: int) -> None:
    if sim.settings[KIND] == 0:
        _dispatch_alone(sim, lane)
        return
    dispatch(sim, lane)
    run_batcher(sim, lane)


@compiled
def _dispatch_alone(sim: Simulation, lane: int) -> None:
    """First come, first served: each request is an execution of its own."""
    state = sim.lane[lane]
    while state[HEAD] < state[CURSOR]:
        context = idle_context(sim, lane)
        if context < 0:
            return
        request = state[HEAD]
        state[HEAD] += 1
        state[QUEUED] -= sim.batch[request]
        row = sim.context[context]
        row[FIRST], row[END], row[BATCH] = request, request + 1, sim.batch[request]
        start(sim, lane, context)
