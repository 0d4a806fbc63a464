"""Sets up the tools for real engines on this machine: environment, builder, measurer, plans, limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.engines.plan_store import DEFAULT_LIMIT_BYTES, PlanStore
from tuner.engines.spec import Environment
from tuner.errors import TunerError
from tuner.measurements.bench import Tools
from tuner.measurements.child_measurer import ChildMeasurer
from tuner.measurements.gpu_state import GpuFacts, gpu_facts

CLOCKS = "as found, not locked"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkshopSettings:
    """Where things lie and what a child may use."""

    flavour: str = "tensorrt"
    folder: Path = Path(".tuner")
    build_seconds: float = 1800.0
    measure_seconds: float = 900.0
    memory_bytes: int | None = None
    plan_limit_bytes: int = DEFAULT_LIMIT_BYTES
    device_index: int = 0


def set_up(settings: WorkshopSettings, *, needs_gpu: bool = True) -> Tools:
    """The tools; TunerError where TensorRT is missing, or the GPU where one is needed."""
    gpu = gpu_facts(settings.device_index)
    if gpu is None and needs_gpu:
        raise TunerError(
            f"no GPU {settings.device_index} answers through NVML, so nothing can be measured here; run on a "
            "machine with an NVIDIA GPU and pip install 'trt-profile-tuner[gpu]', or give --measurements FILE"
        )
    logs = settings.folder / "logs"
    builder = ChildBuilder(Limits(seconds=settings.build_seconds, memory_bytes=settings.memory_bytes), logs)
    measurer = ChildMeasurer(
        Limits(seconds=settings.measure_seconds, memory_bytes=settings.memory_bytes), logs
    )
    return Tools(
        builder=builder,
        measurer=measurer,
        plans=PlanStore(settings.folder / "plans", settings.plan_limit_bytes),
        environment=environment_of(gpu, settings.flavour, builder.describe(settings.flavour)),
        gpu_bytes=gpu.memory_bytes if gpu else None,
        device_index=settings.device_index,
    )


def environment_of(gpu: GpuFacts | None, flavour: str, version: str) -> Environment:
    return Environment(
        gpu=gpu.name if gpu else "none",
        tensorrt=version,
        flavour=flavour,
        driver=gpu.driver if gpu else None,
        cuda=gpu.cuda if gpu else None,
        clock_policy=CLOCKS if gpu else None,
    )
