"""Every exported set, read back by its consumer's parser, is accepted and built by TensorRT-RTX."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.export import consumer_parsers as consumers
from tests.export.written_documents import as_json, one, write
from tests.models import save
from tuner.errors import TunerError
from tuner.export.builder_config import apply
from tuner.export.exported import ExportOptions
from tuner.export.formats import FORMATS
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import load

pytestmark = pytest.mark.rtx
trt = pytest.importorskip("tensorrt_rtx", reason="needs TensorRT-RTX: pip install 'trt-profile-tuner[rtx]'")

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


def builder_for(path: Path) -> tuple[Any, Any, Any]:
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(path))
    return builder, builder.create_builder_config(), network


def build(path: Path, profiles: list[consumers.Shapes]) -> None:
    """Hand plain shapes to the builder as a consumer would, and build."""
    builder, config, network = builder_for(path)
    for shapes in profiles:
        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            if tensor.name in shapes:
                setter = profile.set_shape_input if tensor.is_shape_tensor else profile.set_shape
                setter(tensor.name, *shapes[tensor.name])
        assert config.add_optimization_profile(profile) >= 0
    assert config.num_optimization_profiles == len(profiles)
    assert builder.build_serialized_network(network, config) is not None


def _export(to: str, found: ProfileDocument, **options: Any) -> str:
    return FORMATS[to](found, ExportOptions(**options)).text


def _from_polygraphy(found: ProfileDocument) -> list[consumers.Shapes]:
    return consumers.polygraphy_profiles(json.loads(_export("polygraphy", found, as_json=True)))


def _from_torch(found: ProfileDocument) -> list[consumers.Shapes]:
    assert found.model is not None
    inputs = consumers.run(_export("torch-tensorrt", found), consumers.torch_modules())["inputs"]
    profiles: list[consumers.Shapes] = [{} for _ in found.profiles]
    for tensor, given in zip(found.model.inputs, (i.given for i in inputs), strict=True):
        for shapes, ranges in zip(profiles, given.get("profiles", [given]), strict=False):
            if "min_shape" in ranges:
                shapes[tensor.name] = (ranges["min_shape"], ranges["opt_shape"], ranges["max_shape"])
    return profiles


READERS: Mapping[str, Callable[[ProfileDocument], list[consumers.Shapes]]] = {
    "trtexec": lambda d: consumers.trtexec_profiles(shlex.split(_export("trtexec", d))),
    "polygraphy": _from_polygraphy,
    "polygraphy-script": lambda d: consumers.polygraphy_script_profiles(_export("polygraphy-script", d)),
    "torch-tensorrt": _from_torch,
    "aitune": lambda d: [
        p.added for p in consumers.run(_export("aitune", d), consumers.aitune_modules())["profiles"]
    ],
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("to", READERS)
def test_what_the_consumer_reads_is_built(to: str, name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    build(tmp_path / f"{name}.onnx", READERS[to](found))


@pytest.mark.parametrize("name", ["tiny", "tiny_encoder", "formula", "shape_tensor"])
def test_what_onnxruntime_reads_is_built(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path, count=1)
    options = json.loads(_export("onnxruntime", found))
    build(tmp_path / f"{name}.onnx", [consumers.onnxruntime_profile(options)])


@pytest.mark.parametrize("name", SETS)
def test_apply_adds_every_profile_to_a_builder_that_then_builds(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    builder, config, network = builder_for(tmp_path / f"{name}.onnx")
    assert apply(found.profiles, builder, config, network) == list(range(len(found.profiles)))
    assert builder.build_serialized_network(network, config) is not None


def test_apply_refuses_another_network_and_adds_nothing(tmp_path: Path) -> None:
    found = document("tiny", tmp_path)
    builder, config, network = builder_for(model_file("tiny_encoder", tmp_path))
    with pytest.raises(TunerError, match=r"profile 0 has the inputs \['x'\]; the network has"):
        apply(found.profiles, builder, config, network)
    assert config.num_optimization_profiles == 0


def test_apply_names_a_shape_that_the_network_does_not_have(tmp_path: Path) -> None:
    wrong = one((1,), (4,), (8,), ("batch",))
    written = as_json(None, [wrong], tensorrt=None)
    written["profiles"][0]["tensors"] = {"x": {"min": [1, 16, 1], "opt": [4, 16, 1], "max": [8, 16, 1]}}
    found = load(write(tmp_path / "profile.json", written))
    builder, config, network = builder_for(model_file("tiny", tmp_path))
    with pytest.raises(
        TunerError, match=r"profile 0: input x has min \[1, 16, 1\], but the network has \[-1, 16\]"
    ):
        apply(found.profiles, builder, config, network)
    assert config.num_optimization_profiles == 0


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("way", ["arguments", "script"])
def test_polygraphy_itself_builds_the_set(way: str, name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    if way == "arguments":
        arguments = shlex.split(_export("polygraphy", found))
    else:
        script = tmp_path / "profiles.py"
        script.write_text(_export("polygraphy-script", found))
        arguments = ["--trt-config-script", str(script)]
    engine = tmp_path / "out.engine"
    program = "from polygraphy.tools import main; main()"
    convert = ["convert", str(tmp_path / f"{name}.onnx"), "--convert-to", "trt", "-o", str(engine)]
    done = subprocess.run(
        [sys.executable, "-c", program, *convert, *arguments],
        env={**os.environ, "POLYGRAPHY_USE_TENSORRT_RTX": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert engine.stat().st_size > 0
