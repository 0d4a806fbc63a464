"""What travels between the tool and a measuring child, as JSON-ready values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.axes import Size
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measurement import Measurement, Mode, Summary
from tuner.measurements.measuring import Visiting
from tuner.measurements.runner import EngineFacts, SizeTask
from tuner.measurements.timing import SamplingRule


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureJob:
    """All that a measuring child needs. `plan_digest` is the SHA-256 that the plan must have.

    `verify_model` names the ONNX file to compare outputs with, where that was asked for, and `verify_tasks`
    the sizes to do it at.
    `contexts` asks for the first task to be timed in so many execution contexts at once, each in a profile
    of its own, instead of timing every task.
    """

    flavour: str
    plan_path: str
    plan_digest: str
    fill: InputFill
    tasks: tuple[SizeTask, ...]
    visiting: Visiting
    device_index: int = 0
    verify_model: str | None = None
    verify_tasks: tuple[SizeTask, ...] = ()
    contexts: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        told = dataclasses.asdict(self)
        told["tasks"] = [_task_to_json(task) for task in self.tasks]
        told["verify_tasks"] = [_task_to_json(task) for task in self.verify_tasks]
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> MeasureJob:
        visiting = dict(told["visiting"])
        visiting["rule"] = SamplingRule(**visiting["rule"])
        return cls(
            **{
                **told,
                "fill": InputFill(**told["fill"]),
                "tasks": tuple(_task_from_json(task) for task in told["tasks"]),
                "verify_tasks": tuple(_task_from_json(task) for task in told["verify_tasks"]),
                "visiting": Visiting(**visiting),
                "contexts": tuple(told["contexts"]),
            }
        )


def _task_to_json(task: SizeTask) -> dict[str, Any]:
    return {
        "size": _size_to_json(task.size),
        "profile_index": task.profile_index,
        "shapes": dict(task.shapes),
        "values": dict(task.values),
        "outputs": dict(task.outputs),
    }


def _task_from_json(told: Mapping[str, Any]) -> SizeTask:
    return SizeTask(
        size=_size_from_json(told["size"]),
        profile_index=told["profile_index"],
        **{part: {n: tuple(v) for n, v in told[part].items()} for part in ("shapes", "values", "outputs")},
    )


def _size_to_json(size: Size) -> list[list[Any]]:
    return [list(size.axes), list(size.values)]


def _size_from_json(told: list[list[Any]]) -> Size:
    return Size(tuple(told[0]), tuple(told[1]))


def measurement_to_json(measurement: Measurement) -> dict[str, Any]:
    return {**dataclasses.asdict(measurement), "size": _size_to_json(measurement.size)}


def measurement_from_json(told: Mapping[str, Any]) -> Measurement:
    return Measurement(
        **{
            **told,
            "size": _size_from_json(told["size"]),
            "mode": Mode(told["mode"]),
            "summary": Summary(**told["summary"]),
            "samples_ms": tuple(told["samples_ms"]),
            "caveats": tuple(told["caveats"]),
        }
    )


def facts_to_json(facts: EngineFacts) -> dict[str, Any]:
    return dataclasses.asdict(facts)


def facts_from_json(told: Mapping[str, Any]) -> EngineFacts:
    return EngineFacts(**told)
