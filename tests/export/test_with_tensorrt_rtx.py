"""Every exported set, read back by its consumer's parser, is accepted and built by TensorRT-RTX."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.engine_sets import (
    READERS,
    SETS,
    build,
    builder_for,
    document,
    export,
    from_onnxruntime,
    model_file,
)
from tests.export.written_documents import as_json, one, write
from tuner.errors import TunerError
from tuner.export.builder_config import apply
from tuner.recommendation.reading_document import load

pytestmark = pytest.mark.rtx
trt = pytest.importorskip("tensorrt_rtx", reason="needs TensorRT-RTX: pip install 'trt-profile-tuner[rtx]'")


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("to", READERS)
def test_what_the_consumer_reads_is_built(to: str, name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    build(trt, tmp_path / f"{name}.onnx", READERS[to](found))


@pytest.mark.parametrize("name", ["tiny", "tiny_encoder", "formula", "shape_tensor"])
def test_what_onnxruntime_reads_is_built(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path, count=1)
    build(trt, tmp_path / f"{name}.onnx", from_onnxruntime(found))


@pytest.mark.parametrize("name", SETS)
def test_apply_adds_every_profile_to_a_builder_that_then_builds(name: str, tmp_path: Path) -> None:
    found = document(name, tmp_path)
    builder, config, network = builder_for(trt, tmp_path / f"{name}.onnx")
    assert apply(found.profiles, builder, config, network) == list(range(len(found.profiles)))
    assert builder.build_serialized_network(network, config) is not None


def test_apply_refuses_another_network_and_adds_nothing(tmp_path: Path) -> None:
    found = document("tiny", tmp_path)
    builder, config, network = builder_for(trt, model_file("tiny_encoder", tmp_path))
    with pytest.raises(TunerError, match=r"profile 0 has the inputs \['x'\]; the network has"):
        apply(found.profiles, builder, config, network)
    assert config.num_optimization_profiles == 0


def test_apply_names_a_shape_that_the_network_does_not_have(tmp_path: Path) -> None:
    wrong = one((1,), (4,), (8,), ("batch",))
    written = as_json(None, [wrong], tensorrt=None)
    written["profiles"][0]["tensors"] = {"x": {"min": [1, 16, 1], "opt": [4, 16, 1], "max": [8, 16, 1]}}
    found = load(write(tmp_path / "profile.json", written))
    builder, config, network = builder_for(trt, model_file("tiny", tmp_path))
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
        arguments = shlex.split(export("polygraphy", found))
    else:
        script = tmp_path / "profiles.py"
        script.write_text(export("polygraphy-script", found))
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
