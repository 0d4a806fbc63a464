"""Compiled: Triton's dynamic batcher as its scheduler thread decides, one lane at a time.

It follows `dynamic_batch_scheduler.cc`, `instance_queue.cc` and `rate_limiter.cc` of Triton's core:
payloads are formed ahead of execution, up to two for each instance, and the newest one takes more requests
until it is saturated or executed. A queue delay counts from the oldest request and holds even while an
instance is idle. Thread switches take no time here.
"""

from __future__ import annotations

import numpy as np

from tuner.replay.compiled import compiled
from tuner.replay.gpu_kernel import idle_context, start
from tuner.replay.queue_state import (
    BATCH,
    CONTEXT_FIRST,
    CONTEXT_STOP,
    CURSOR,
    EMPTY,
    END,
    FIRST,
    HEAD,
    LARGEST_PREFERRED,
    MARKED,
    MAX_BATCH,
    NEXT_PREFERRED,
    NOW,
    PAYLOAD,
    QUEUED,
    RING_COUNT,
    RING_FIRST,
    SATURATED,
    SCHEDULED,
    SEPARATE,
    STALE,
    UNLIKE,
    Int64Array,
    Simulation,
)

PREFETCHED_PAYLOADS = 2
"""Payloads that wait for each instance at most; the batcher stops at that many."""
_EMPTY_QUEUE_WAIT_S = 0.5
"""How long the batcher's thread sleeps on an empty queue, unless it is woken."""


@compiled
def has_slot(sim: Simulation, lane: int) -> bool:
    contexts = sim.lane[lane, CONTEXT_STOP] - sim.lane[lane, CONTEXT_FIRST]
    return bool(sim.lane[lane, RING_COUNT] < PREFETCHED_PAYLOADS * contexts)


@compiled
def is_woken(sim: Simulation, lane: int) -> bool:
    """Whether a new request wakes the batcher; where shapes do not matter it waits for a preferred size."""
    if not has_slot(sim, lane):
        return False
    state = sim.lane[lane]
    if sim.settings[UNLIKE] == SEPARATE or state[SATURATED] == 1 or state[PAYLOAD] == STALE:
        return True
    return bool(state[QUEUED] >= state[NEXT_PREFERRED])


@compiled
def sleep_on(sim: Simulation, lane: int) -> None:
    """A request came that does not wake the thread: it is found when a sleep on the empty queue ends."""
    if sim.wake_s[lane] == np.inf and has_slot(sim, lane):
        sleeps = np.floor((sim.gpu[NOW] - sim.slept_s[lane]) / _EMPTY_QUEUE_WAIT_S) + 1.0
        sim.wake_s[lane] = sim.slept_s[lane] + sleeps * _EMPTY_QUEUE_WAIT_S


@compiled
def run_batcher(sim: Simulation, lane: int) -> None:
    """One waking of the batcher's thread: form and hand over payloads until it has to wait."""
    state = sim.lane[lane]
    while True:
        if state[SATURATED] == 1 or state[PAYLOAD] == STALE:
            state[PAYLOAD], state[SATURATED], state[NEXT_PREFERRED] = EMPTY, 0, 0
        if state[HEAD] == state[CURSOR]:
            sim.wake_s[lane], sim.slept_s[lane] = np.inf, sim.gpu[NOW]
            return
        if not has_slot(sim, lane):
            sim.wake_s[lane] = np.inf
            return
        wake_s, count, batch, marked = _form_batch(sim, lane)
        if wake_s > sim.gpu[NOW]:
            sim.wake_s[lane] = wake_s
            return
        if count > 0:
            _hand_over(sim, lane, count, batch, marked)
            dispatch(sim, lane)
        elif state[SATURATED] == 0:
            # Another shape than the scheduled payload's: nothing can happen before that is executed.
            sim.wake_s[lane] = np.inf
            return


@compiled
def _form_batch(sim: Simulation, lane: int) -> tuple[float, int, int, int]:
    """When to wake up (0: go on), and the waiting requests to hand over: count, batch, marked."""
    state = sim.lane[lane]
    held, shape = _held(sim, lane)
    pending, count, best, best_count, send_now, marked = 0, 0, 0, 0, False, 0
    for request in range(state[HEAD], state[CURSOR]):
        size = sim.batch[request]
        if held + count > 0:
            if held + pending + size > sim.settings[LARGEST_PREFERRED] and best == 0:
                best, best_count = pending, count
                state[SATURATED] = 1
            if held + pending + size > sim.settings[MAX_BATCH]:
                send_now = True
                break
            if sim.settings[UNLIKE] == SEPARATE and sim.shape[request] != shape:
                send_now, marked = True, 1
                break
        else:
            shape = sim.shape[request]
        pending += size
        count += 1
        if sim.preferred[min(held + pending, sim.settings[MAX_BATCH])] and (
            held + pending <= sim.settings[MAX_BATCH]
        ):
            best, best_count = pending, count
    return _decide(sim, lane, held, pending, count, best, best_count, send_now, marked)


@compiled
def _held(sim: Simulation, lane: int) -> tuple[int, int]:
    """Batch and shape of the payload being filled; 0 where it is empty."""
    if sim.lane[lane, PAYLOAD] != SCHEDULED:
        return 0, -1
    tail = sim.ring[lane, _tail(sim, lane)]
    return tail[BATCH], sim.shape[tail[FIRST]]


@compiled
def _tail(sim: Simulation, lane: int) -> int:
    """Place of the newest payload in the ring; it is the one being filled while that is scheduled."""
    last = sim.lane[lane, RING_FIRST] + sim.lane[lane, RING_COUNT] - 1
    return int(last % sim.ring.shape[1])


@compiled
def _decide(  # noqa: PLR0913  # compiled code has no records to group them in
    sim: Simulation,
    lane: int,
    held: int,
    pending: int,
    count: int,
    best: int,
    best_count: int,
    send_now: bool,
    marked: int,
) -> tuple[float, int, int, int]:
    state = sim.lane[lane]
    # The very sum that the waking is planned for, so that rounding never lets it come too early.
    late_s = sim.arrival_s[state[HEAD]] + sim.delay_s if count > 0 else 0.0
    exceeded = sim.delay_s > 0.0 and sim.gpu[NOW] >= late_s
    if best != 0 and not exceeded:
        if sim.delay_s == 0.0:
            state[SATURATED] = 1
        return 0.0, best_count, best, marked
    if count == 0:
        return 0.0, 0, 0, marked
    if send_now or held + pending >= sim.settings[LARGEST_PREFERRED]:
        state[SATURATED] = 1
        return 0.0, count, pending, marked
    if exceeded or sim.delay_s == 0.0:
        return 0.0, count, pending, marked
    state[NEXT_PREFERRED] = sim.next_preferred[held + pending] - held
    if state[SATURATED] == 0 and held != 0 and not sim.preferred[held]:
        return 0.0, count, pending, marked
    return late_s, 0, 0, marked


@compiled
def _hand_over(sim: Simulation, lane: int, count: int, batch: int, marked: int) -> None:
    """Move waiting requests into the payload, scheduling it if it is new."""
    state = sim.lane[lane]
    if state[PAYLOAD] == EMPTY:
        state[RING_COUNT] += 1
        tail = sim.ring[lane, _tail(sim, lane)]
        tail[FIRST], tail[END], tail[BATCH] = state[HEAD], state[HEAD], 0
        tail[MARKED] = 0
        state[PAYLOAD] = SCHEDULED
    tail = sim.ring[lane, _tail(sim, lane)]
    tail[END] += count
    tail[BATCH] += batch
    tail[MARKED] |= marked
    state[HEAD] += count
    state[QUEUED] -= batch


@compiled
def dispatch(sim: Simulation, lane: int) -> None:
    """Give waiting payloads to idle contexts."""
    state = sim.lane[lane]
    while state[RING_COUNT] > 0:
        context = idle_context(sim, lane)
        if context < 0:
            return
        payload = sim.ring[lane, state[RING_FIRST]]
        _pop(sim, lane)
        if sim.delay_s > 0.0 and sim.settings[MAX_BATCH] > 1 and payload[MARKED] == 0:
            _merge_late(sim, lane, payload)
        row = sim.context[context]
        row[FIRST], row[END], row[BATCH] = payload[FIRST], payload[END], payload[BATCH]
        start(sim, lane, context)


@compiled
def _pop(sim: Simulation, lane: int) -> None:
    state = sim.lane[lane]
    if state[RING_COUNT] == 1 and state[PAYLOAD] == SCHEDULED:
        state[PAYLOAD] = STALE
    state[RING_FIRST] = (state[RING_FIRST] + 1) % sim.ring.shape[1]
    state[RING_COUNT] -= 1


@compiled
def _merge_late(sim: Simulation, lane: int, payload: Int64Array) -> None:
    """Take in the payloads that follow while they are late and fit; all lie next to each other."""
    state = sim.lane[lane]
    while state[RING_COUNT] > 0:
        following = sim.ring[lane, state[RING_FIRST]]
        if following[MARKED] == 1 or sim.gpu[NOW] - sim.arrival_s[following[FIRST]] <= sim.delay_s:
            return
        alike = sim.settings[UNLIKE] != SEPARATE or (sim.shape[following[FIRST]] == sim.shape[payload[FIRST]])
        if payload[BATCH] + following[BATCH] > sim.settings[MAX_BATCH] or not alike:
            if state[RING_COUNT] == 1 and state[PAYLOAD] == SCHEDULED:
                state[PAYLOAD] = STALE  # looking at it has marked it as executing: nothing joins it now
            return
        payload[END] = following[END]
        payload[BATCH] += following[BATCH]
        _pop(sim, lane)
