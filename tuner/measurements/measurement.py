"""Engines that were built and sizes that were timed, as they are stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tuner.axes import Size
from tuner.engines.spec import EngineSpec
from tuner.errors import TunerError

CONTENDED = "shared"
"""Kind of the caveat on a measurement that others on the GPU disturbed."""


def is_contended(caveats: Iterable[str]) -> bool:
    return any(caveat.startswith(CONTENDED) for caveat in caveats)


class Mode(StrEnum):
    """How an inference is put on the GPU: enqueued layer by layer, or replayed as a CUDA graph."""

    ENQUEUE = "enqueue"
    CUDA_GRAPH = "cuda_graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Statistics of the samples of one measurement, all in milliseconds but the count."""

    mean_ms: float
    std_ms: float
    min_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float
    sample_count: int

    def __post_init__(self) -> None:
        ordered = (self.min_ms, self.p50_ms, self.p90_ms, self.p99_ms, self.max_ms)
        if not all(math.isfinite(value) for value in (*ordered, self.mean_ms, self.std_ms)):
            raise TunerError(f"measurement holds a time that is not finite: {self}")
        if self.min_ms <= 0 or list(ordered) != sorted(ordered):
            raise TunerError(f"measurement's times do not rise from above zero: {self}")
        if self.sample_count < 1:
            raise TunerError(f"measurement has {self.sample_count} samples; at least one is needed")

    @property
    def variation(self) -> float:
        """Coefficient of variation: standard deviation over mean."""
        return self.std_ms / self.mean_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One size timed under one profile of one engine.

    `summary` is GPU compute time in the given mode. `first_run_ms` is host time of the first run after
    the size was set. `h2d_ms`, `d2h_ms` and `enqueue_ms` are medians in trtexec's sense; None where they
    were not taken. `utilisation` (0 to 1) is what NVML says at the end of a visit of the size, the median
    over visits. `samples_ms` are the raw samples where they are at hand.
    """

    profile_index: int
    size: Size
    mode: Mode
    summary: Summary
    input_fill: str = "unknown"
    first_run_ms: float | None = None
    h2d_ms: float | None = None
    d2h_ms: float | None = None
    enqueue_ms: float | None = None
    utilisation: float | None = None
    samples_ms: tuple[float, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def is_contended(self) -> bool:
        """True where another process used the GPU meanwhile; such a one is repeated and decides nothing."""
        return is_contended(self.caveats)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltEngine:
    """The outcome of one build: an engine, or the kind of failure and its reason.

    `repeat` counts builds of the same spec from 0; `outcome` is `built` or a kind of failure.
    `measured_on` is an ISO date, `source` says where the numbers came from (`measured` or a file).
    `workspace_bytes` is the limit that the build needed, None for TensorRT's own; `timing_cache` is `none`,
    `accepted` or `refused: reason`. `size_change_ms` and `profile_change_ms` are what the next inference
    takes longer after another size and after another profile.
    """

    spec: EngineSpec
    name: str
    repeat: int = 0
    outcome: str = "built"
    reason: str | None = None
    build_s: float | None = None
    plan_bytes: int | None = None
    device_memory_bytes: int | None = None
    plan_digest: str | None = None
    workspace_bytes: int | None = None
    timing_cache: str | None = None
    size_change_ms: float | None = None
    profile_change_ms: float | None = None
    measured_on: str | None = None
    source: str = "measured"

    @property
    def is_built(self) -> bool:
        return self.outcome == "built"
