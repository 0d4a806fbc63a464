"""The seam between a profile set and its engine: what a builder is asked for and what it gives back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from tuner.engines.spec import EngineSpec
from tuner.errors import TunerError
from tuner.model import Model, Shape
from tuner.profiles.profile import TensorRange

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "int8", "fp8")
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderOptions:
    """What the builder is told besides the precision; None leaves a choice to TensorRT.

    `tactic_sources` empty allows no external library at all. `workspace_bytes` limits the workspace; where
    a build fails for lack of it, the limit doubles up to `workspace_cap_bytes`.
    """

    optimization_level: int | None = None
    tactic_sources: tuple[str, ...] | None = None
    workspace_bytes: int | None = None
    workspace_cap_bytes: int = 16 * GIB

    def __post_init__(self) -> None:
        if self.optimization_level is not None and not 0 <= self.optimization_level <= 5:
            raise TunerError(f"builder optimization level {self.optimization_level}; 0 to 5 is accepted")
        if self.workspace_bytes is not None and self.workspace_bytes < 1:
            raise TunerError(f"workspace of {self.workspace_bytes} bytes; at least 1 is needed")

    @property
    def text(self) -> str:
        """The canonical text that `EngineSpec.builder_options` holds; `parse` reads it back."""
        told = {name: value for name, value in asdict(self).items() if value is not None}
        if self.workspace_bytes is None:
            del told["workspace_cap_bytes"]
        return json.dumps(told, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> BuilderOptions:
        try:
            told = json.loads(text)
            if told.get("tactic_sources") is not None:
                told["tactic_sources"] = tuple(told["tactic_sources"])
            return cls(**told)
        except (ValueError, TypeError, AttributeError) as error:
            raise TunerError(f"builder options '{text}' cannot be read ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRange:
    """One network input as the builder must find it, with its range in every profile.

    `shape` has -1 for each dynamic dimension; `ranges` is in profile order and empty for a static input.
    """

    name: str
    dtype: str
    shape: Shape
    is_shape_tensor: bool
    ranges: tuple[TensorRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildJob:
    """All that a build needs, in values that travel to a child process as JSON.

    `needs_gpu` is True where there is a GPU: the engine must then be readable, and its profiles are read
    back from it. `timing_cache` is a file that is read if it is there, and written afterwards.
    """

    flavour: str
    model_path: str
    plan_path: str
    precision: str
    options: BuilderOptions
    inputs: tuple[InputRange, ...]
    needs_gpu: bool
    timing_cache: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> BuildJob:
        options = dict(told["options"])
        if options["tactic_sources"] is not None:
            options["tactic_sources"] = tuple(options["tactic_sources"])
        inputs = tuple(_input_range(described) for described in told["inputs"])
        return cls(**{**told, "options": BuilderOptions(**options), "inputs": inputs})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPlan:
    """An engine as the builder left it.

    `precision` is the one the engine really has. `profiles_read_from` says who confirmed the profiles: the
    `engine`, or the `builder` where no GPU could open it. `timing_cache` is `none`, `accepted` or
    `refused: reason`. `workspace_bytes` is the limit that was needed, None for TensorRT's own.
    """

    plan_path: str
    plan_bytes: int
    plan_digest: str
    build_s: float
    precision: str
    tensorrt: str
    profiles_read_from: str
    device_memory_bytes: int | None = None
    workspace_bytes: int | None = None
    timing_cache: str = "none"
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> BuiltPlan:
        return cls(**{**told, "warnings": tuple(told["warnings"])})


class Builder(Protocol):
    """Turns a job into a plan; the one that TensorRT serves runs each build in a process of its own."""

    def describe(self, flavour: str) -> str:
        """The version of the flavour that would build; TunerError where it cannot."""

    def build(self, job: BuildJob) -> BuiltPlan:
        """Write the plan of a job. BuildFailed with the kind and reason where there is none."""


def build_job(
    spec: EngineSpec, model: Model, model_path: Path, plan_path: Path, *, needs_gpu: bool
) -> BuildJob:
    """The job that builds a spec; TunerError where a profile does not determine every input."""
    if set(spec.profiles.axes) != set(model.axes):
        raise TunerError(
            f"the profiles have the axes {list(spec.profiles.axes)}, the model has {list(model.axes)}"
        )
    wanted = [profile.tensor_ranges(model) for profile in spec.profiles]
    inputs = tuple(
        InputRange(
            name=tensor.name,
            dtype=tensor.dtype,
            shape=tensor.network_shape(),
            is_shape_tensor=tensor.is_shape_tensor,
            ranges=tuple(ranges[tensor.name] for ranges in wanted if tensor.name in ranges),
        )
        for tensor in model.inputs
    )
    return BuildJob(
        flavour=spec.environment.flavour,
        model_path=str(model_path),
        plan_path=str(plan_path),
        precision=spec.precision,
        options=BuilderOptions.parse(spec.builder_options),
        inputs=inputs,
        needs_gpu=needs_gpu,
    )


def _input_range(told: Mapping[str, Any]) -> InputRange:
    ranges = tuple(
        TensorRange(
            tuple(r["min"]),
            tuple(r["opt"]),
            tuple(r["max"]),
            None if r["values"] is None else {bound: tuple(v) for bound, v in r["values"].items()},
        )
        for r in told["ranges"]
    )
    return InputRange(**{**told, "shape": tuple(told["shape"]), "ranges": ranges})
