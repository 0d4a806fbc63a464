"""Models with profile sets that an engine is built of, and each export of them as its consumer reads it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx

from tests.export import consumer_parsers as consumers
from tests.export.written_documents import as_json, one, write
from tests.models import save
from tuner.export.exported import ExportOptions
from tuner.export.formats import FORMATS
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import load

Bounds = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
SETS: Mapping[str, tuple[Bounds, ...]] = {
    "tiny": (((1,), (4,), (8,)), ((8,), (32,), (64,)), ((1,), (1,), (1,)), ((1,), (64,), (64,))),
    "tiny_encoder": (((1, 16), (4, 32), (8, 64)), ((8, 64), (8, 128), (16, 128))),
    "formula": (((1, 2), (2, 8), (4, 16)),),
    "shape_tensor": (((2, 4, 8), (4, 8, 8), (8, 16, 8)),),
    "odd_names": (((1,), (2,), (8,)), ((4,), (8,), (16,))),
}


def odd_names(path: Path) -> Path:
    """Inputs called as exporters of PyTorch and TensorFlow call them, both with the batch `n` in front."""
    names = {"input/image:0": ["n", 4], "onnx::Conv_1": ["n", 4]}
    inputs = [onnx.helper.make_tensor_value_info(name, 1, dims) for name, dims in names.items()]
    output = onnx.helper.make_tensor_value_info("y", 1, ["n", 4])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", [*names], ["y"])], "g", inputs, [output])
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, ir_version=8, opset_imports=[opset]), path)
    return path


def model_file(name: str, folder: Path) -> Path:
    path = folder / f"{name}.onnx"
    return odd_names(path) if name == "odd_names" else Path(save(name, path))


def document(name: str, folder: Path, count: int | None = None) -> ProfileDocument:
    model = read_onnx(model_file(name, folder))
    profiles: list[OptimizationProfile] = [one(*bounds, model.axes) for bounds in SETS[name][:count]]
    written = as_json(model, profiles, tensorrt="1.7", flavour="tensorrt_rtx")
    return load(write(folder / "profile.json", written))


def builder_for(trt: Any, path: Path) -> tuple[Any, Any, Any]:
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    flags = trt.NetworkDefinitionCreationFlag
    explicit = getattr(flags, "EXPLICIT_BATCH", None) or flags.STRONGLY_TYPED
    network = builder.create_network(1 << int(explicit))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(path))
    config = builder.create_builder_config()
    if trt.__name__ == "tensorrt":
        config.set_tactic_sources(0)  # cuBLAS and cuDNN need not be installed for a test
    return builder, config, network


def build(trt: Any, path: Path, profiles: list[consumers.Shapes]) -> bytes:
    """The plan that comes of plain shapes, handed to the builder as a consumer would."""
    builder, config, network = builder_for(trt, path)
    for shapes in profiles:
        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            if tensor.name in shapes:
                setter = profile.set_shape_input if tensor.is_shape_tensor else profile.set_shape
                setter(tensor.name, *shapes[tensor.name])
        assert config.add_optimization_profile(profile) >= 0
    assert config.num_optimization_profiles == len(profiles)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def export(to: str, found: ProfileDocument, **options: Any) -> str:
    return FORMATS[to](found, ExportOptions(**options)).text


def _from_polygraphy(found: ProfileDocument) -> list[consumers.Shapes]:
    return consumers.polygraphy_profiles(json.loads(export("polygraphy", found, as_json=True)))


def _from_torch(found: ProfileDocument) -> list[consumers.Shapes]:
    assert found.model is not None
    inputs = consumers.run(export("torch-tensorrt", found), consumers.torch_modules())["inputs"]
    profiles: list[consumers.Shapes] = [{} for _ in found.profiles]
    for tensor, given in zip(found.model.inputs, (i.given for i in inputs), strict=True):
        for shapes, ranges in zip(profiles, given.get("profiles", [given]), strict=False):
            if "min_shape" in ranges:
                shapes[tensor.name] = (ranges["min_shape"], ranges["opt_shape"], ranges["max_shape"])
    return profiles


READERS: Mapping[str, Callable[[ProfileDocument], list[consumers.Shapes]]] = {
    "trtexec": lambda d: consumers.trtexec_profiles(shlex.split(export("trtexec", d))),
    "polygraphy": _from_polygraphy,
    "polygraphy-script": lambda d: consumers.polygraphy_script_profiles(export("polygraphy-script", d)),
    "torch-tensorrt": _from_torch,
    "aitune": lambda d: [
        p.added for p in consumers.run(export("aitune", d), consumers.aitune_modules())["profiles"]
    ],
}


def from_onnxruntime(found: ProfileDocument) -> list[consumers.Shapes]:
    """Its single profile."""
    return [consumers.onnxruntime_profile(json.loads(export("onnxruntime", found)))]
