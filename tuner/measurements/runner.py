"""The seam between an engine and its timings: what a runner is asked and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from tuner.axes import Size
from tuner.engines.memory_need import output_shape
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measurement import Mode
from tuner.measurements.timing import SamplingRule
from tuner.model import Model, Shape

Outputs = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTask:
    """One size to time under one profile, as shapes and values of the tensors.

    `values` holds those of shape tensors. `outputs` has None for a dimension that does not follow from
    the size; the others are compared with what the engine says.
    """

    size: Size
    profile_index: int
    shapes: Mapping[str, Shape]
    values: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int | None, ...]]

    @classmethod
    def of(cls, model: Model, size: Size, profile_index: int) -> SizeTask:
        axes = size.as_dict()
        return cls(
            size=size,
            profile_index=profile_index,
            shapes=model.tensor_shapes(size),
            values=model.tensor_values(size),
            outputs={output.name: output_shape(output, axes) for output in model.outputs},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What an opened engine says of itself; None where it does not."""

    tensorrt: str
    profile_count: int
    device_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTiming:
    """What timing one size gave; all in milliseconds, and medians where it is one number.

    `samples_ms` is GPU compute time by mode; a mode that the engine cannot run is absent, and `refused`
    says why. `precise` names the modes whose median is known well enough. `first_run_ms` is host time of
    the first run after the size was set.
    """

    samples_ms: Mapping[Mode, tuple[float, ...]]
    precise: frozenset[Mode]
    first_run_ms: float
    h2d_ms: float | None = None
    d2h_ms: float | None = None
    enqueue_ms: float | None = None
    refused: Mapping[Mode, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """GPU compute time in ms of a run right after one of another size or profile, and after one of its own.

    Each run is waited for before the next is put on the stream.
    """

    changed_ms: float
    steady_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextsTiming:
    """How one size fares when so many execution contexts share the GPU: service time of an inference."""

    contexts: int
    p50_ms: float
    p99_ms: float
    inferences_per_s: float


class Runner(Protocol):
    """Opens one engine and times sizes in it; whoever opens it closes it."""

    def open(self, plan_path: Path, fill: InputFill) -> EngineFacts:
        """Load a plan. RunFailed where this machine cannot run it."""

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        """Time one size in every mode. RunFailed where the engine would run another size than asked.

        `check` is called once with the inputs and the outputs of the first run.
        """

    def time_change(self, before: SizeTask, task: SizeTask) -> Change:
        """Run one size after another, both timed before in this engine; RunFailed where one was not."""

    def close(self) -> None:
        """Give back everything; closing twice is fine."""


OutputCheck = Callable[[Outputs, Outputs], None]
