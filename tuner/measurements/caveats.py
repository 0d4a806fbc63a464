"""Reasons to doubt a measurement, each with a next step; thresholds are trtexec's where it has one."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.measurements.gpu_state import GpuState
from tuner.measurements.measurement import Summary

UNSTABLE_VARIATION = 0.025
"""Coefficient of variation of GPU compute time; trtexec warns there (above 1 % in release 8.6)."""
ENQUEUE_BOUND_SHARE = 0.8
"""Enqueue time over GPU compute time above which the host holds the GPU up (trtexec)."""
COPY_BOUND_SHARE = 1.0
"""Transfer time over GPU compute time above which copies decide the throughput (trtexec)."""
THROTTLED_CLOCK = 0.98
"""Share of the highest SM clock of a run below which a throttling GPU really is slower."""
SLOW_FACTOR = 10.0
"""A sample this many times the median belongs to another mode than the rest."""
DRIFT = 0.01
"""Change of the median from the first visit of a size to the last."""
FLAT_CHANGE = 0.01
"""Latencies of the smallest and the largest size that differ less than this do not depend on the size."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """A reason to doubt a number, and what to do about it."""

    kind: str
    text: str
    next_step: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}; {self.next_step}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """All that is known about one measurement: its samples, by visit, and what went on around it.

    `highest_clock_mhz` is the highest SM clock that was seen while the engine was measured.
    """

    summary: Summary
    visits: tuple[tuple[float, ...], ...]
    is_precise: bool = True
    enqueue_ms: float | None = None
    h2d_ms: float | None = None
    d2h_ms: float | None = None
    gpu_states: tuple[GpuState, ...] = ()
    highest_clock_mhz: int | None = None


def caveats_of(about: Circumstances) -> tuple[Caveat, ...]:
    """Every caveat that applies, in a fixed order."""
    return tuple(caveat for check in _CHECKS if (caveat := check(about)) is not None)


def _enqueue_bound(about: Circumstances) -> Caveat | None:
    p50 = about.summary.p50_ms
    if about.enqueue_ms is None or about.enqueue_ms <= ENQUEUE_BOUND_SHARE * p50:
        return None
    return Caveat(
        "enqueue_bound",
        f"the host needs {about.enqueue_ms:.3f} ms to enqueue {p50:.3f} ms of GPU work",
        "use CUDA graphs (--mode cuda_graph)",
    )


def _copy_bound(about: Circumstances) -> Caveat | None:
    p50 = about.summary.p50_ms
    copies = {"H2D": about.h2d_ms or 0.0, "D2H": about.d2h_ms or 0.0}
    slow = [f"{name} {ms:.3f} ms" for name, ms in copies.items() if ms > COPY_BOUND_SHARE * p50]
    if not slow:
        return None
    return Caveat(
        "copy_bound",
        f"{' and '.join(slow)} against {p50:.3f} ms of GPU compute",
        "keep inputs and outputs on the GPU or overlap the copies",
    )


def _unstable(about: Circumstances) -> Caveat | None:
    if about.summary.variation <= UNSTABLE_VARIATION:
        return None
    return Caveat(
        "unstable",
        f"GPU compute time varies by {about.summary.variation:.1%}",
        "lock the GPU's clocks, or measure again with nothing else running",
    )


def _two_modes(about: Circumstances) -> Caveat | None:
    samples = [ms for visit in about.visits for ms in visit]
    limit = SLOW_FACTOR * statistics.median(samples)
    share = sum(ms > limit for ms in samples) / len(samples)
    if share == 0:
        return None
    return Caveat(
        "two_modes",
        f"two modes: {share:.1%} of samples are more than {SLOW_FACTOR:g} times the median",
        "look for another process or a poller on this GPU; the mean is not to be trusted",
    )


def _imprecise(about: Circumstances) -> Caveat | None:
    if about.is_precise:
        return None
    return Caveat(
        "imprecise",
        f"the median's 95 % interval is wider than asked after {about.summary.sample_count} samples",
        "allow more samples, or quieten the GPU",
    )


def _drift(about: Circumstances) -> Caveat | None:
    if len(about.visits) < 2:
        return None
    first, last = statistics.median(about.visits[0]), statistics.median(about.visits[-1])
    if abs(last / first - 1) <= DRIFT:
        return None
    return Caveat(
        "drift",
        f"the median went from {first:.4f} to {last:.4f} ms between the first visit and the last",
        "measure again once temperature and clocks have settled",
    )


def _throttled(about: Circumstances) -> Caveat | None:
    # The driver's flags lag behind: after a heavy size they stay up for a while, at full clocks.
    highest = max((state.sm_clock_mhz or 0 for state in about.gpu_states), default=0)
    highest = max(highest, about.highest_clock_mhz or 0)
    slowed = [s for s in about.gpu_states if (s.sm_clock_mhz or 0) < THROTTLED_CLOCK * highest]
    reasons = sorted({reason for state in slowed for reason in state.throttle_reasons})
    if not reasons:
        return None
    lowest = min(state.sm_clock_mhz or 0 for state in slowed)
    return Caveat(
        "throttled",
        f"the GPU slowed itself down to {lowest} of {highest} MHz ({', '.join(reasons)})",
        "improve cooling, or lock clocks that it can hold",
    )


def _shared(about: Circumstances) -> Caveat | None:
    others = max((state.other_process_count for state in about.gpu_states), default=0)
    if not others:
        return None
    return Caveat("shared", f"{others} other processes used the GPU", "measure again when they have ended")


_CHECKS: Sequence[Callable[[Circumstances], Caveat | None]] = (
    _throttled,
    _shared,
    _unstable,
    _two_modes,
    _drift,
    _imprecise,
    _enqueue_bound,
    _copy_bound,
)


def flat_curve(smallest_ms: float, largest_ms: float, *, work_ratio: float) -> Caveat | None:
    """A caveat where much more work takes no more time: then it is not the work that was timed."""
    if work_ratio < 2 or abs(largest_ms / smallest_ms - 1) >= FLAT_CHANGE:
        return None
    return Caveat(
        "flat_curve",
        f"{work_ratio:g} times the work takes the same {smallest_ms:.3f} ms",
        "check that the GPU is waited for, or that launches do not hide its work (--mode cuda_graph)",
    )
