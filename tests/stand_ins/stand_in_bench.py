"""A bench whose children are the recorded stand-ins: everything real but TensorRT and the GPU."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.models import save
from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.engines.plan_store import PlanStore
from tuner.engines.spec import Environment
from tuner.measurements.bench import Bench, BuildChoices, Tools
from tuner.measurements.child_measurer import ChildMeasurer
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measuring import Visiting
from tuner.measurements.store import Store
from tuner.measurements.timing import SamplingRule
from tuner.onnx_file import read_onnx

CHILD = str(Path(__file__).with_name("recorded_engine.py"))
ENVIRONMENT = Environment(gpu="NVIDIA H200", tensorrt="8.6.0", driver="580", cuda="13.0")
GPU_BYTES = 141 << 30


def stand_in_tools(folder: Path) -> Tools:
    limits = Limits(seconds=60)
    return Tools(
        builder=ChildBuilder(limits, folder / "logs", (sys.executable, CHILD, "build")),
        measurer=ChildMeasurer(limits, folder / "logs", (sys.executable, CHILD, "measure")),
        plans=PlanStore(folder / "plans"),
        environment=ENVIRONMENT,
        gpu_bytes=GPU_BYTES,
    )


def stand_in_bench(folder: Path, store: Store) -> Bench:
    """An encoder's bench; the model file is the tiny one, whose inputs are those that were recorded."""
    path = folder / "encoder.onnx"
    if not path.exists():
        save("tiny_encoder", path)
    return Bench(
        model=read_onnx(path),
        model_path=path,
        store=store,
        tools=stand_in_tools(folder),
        fill=InputFill({"input_ids": 100}),
        choices=BuildChoices(),
        visiting=Visiting(rule=SamplingRule(min_samples=10), rounds=2),
    )
