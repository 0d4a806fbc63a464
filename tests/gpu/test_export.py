"""The profiles of each export, read back from an engine that real TensorRT built of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.export.consumer_parsers import shapes_of
from tests.export.engine_sets import (
    READERS,
    SETS,
    build,
    builder_for,
    document,
    from_onnxruntime,
)
from tuner.engines.tensorrt_api import Log, engine_ranges, engine_values, load_tensorrt
from tuner.export.builder_config import apply
from tuner.measurements.gpu_state import gpu_facts
from tuner.recommendation.profile_document import ProfileDocument

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_facts() is None, reason="no NVIDIA GPU answers through NVML"),
]


def read_back(plan: bytes, found: ProfileDocument) -> list[dict[str, Any]]:
    """Shapes by input, of shape tensors their values, of every profile in the engine."""
    api = load_tensorrt("tensorrt")
    engine = api.module.Runtime(api.logger(Log())).deserialize_cuda_engine(plan)
    assert engine.num_optimization_profiles == len(found.profiles)
    profiles = []
    for index, tensors in enumerate(found.tensor_ranges):
        shapes: dict[str, Any] = {}
        for name, range_ in tensors.items():
            if range_.values is None:
                shapes[name] = tuple(engine_ranges(engine, [name], index)[name])
            else:
                told = engine_values(engine, name, index)
                assert all(told)
                # Release 8.6 tells no more than the first value of each bound.
                given = (range_.values[bound] for bound in ("min", "opt", "max"))
                shapes[name] = tuple(t + tuple(g)[len(t) :] for t, g in zip(told, given, strict=True))
        profiles.append(shapes)
    return profiles


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("to", READERS)
def test_an_engine_has_the_profiles_that_were_exported(to: str, name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    plan = build(load_tensorrt("tensorrt").module, tmp_path / f"{name}.onnx", READERS[to](found))
    assert read_back(plan, found) == shapes_of(found)


@pytest.mark.parametrize("name", ["tiny", "tiny_encoder", "formula", "shape_tensor"])
def test_an_engine_has_the_profile_that_onnxruntime_reads(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path, count=1)
    plan = build(load_tensorrt("tensorrt").module, tmp_path / f"{name}.onnx", from_onnxruntime(found))
    assert read_back(plan, found) == shapes_of(found)


@pytest.mark.parametrize("name", SETS)
def test_an_engine_has_the_profiles_that_apply_added(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    builder, config, network = builder_for(load_tensorrt("tensorrt").module, tmp_path / f"{name}.onnx")
    apply(found.profiles, builder, config, network)
    assert read_back(bytes(builder.build_serialized_network(network, config)), found) == shapes_of(found)
