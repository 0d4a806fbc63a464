"""Tests of the engine that goes to production, over the stand-in builder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.models import save
from tests.stand_ins.stand_in_bench import ENVIRONMENT, stand_in_tools
from tuner.axes import Size
from tuner.engines.builder import BuilderOptions, build_job
from tuner.engines.deliver import deliver
from tuner.engines.spec import EngineSpec
from tuner.errors import BuildFailed
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

AXES = ("batch", "seq")


def delivered(folder: Path, longest: int) -> Path:
    path = save("tiny_encoder", folder / "m.onnx")
    model = read_onnx(path)
    bounds = (Size(AXES, values) for values in ((1, 16), (4, 128), (8, longest)))
    spec = EngineSpec(
        model_hash=str(model.content_hash),
        profiles=ProfileSet((OptimizationProfile(*bounds),)),
        precision="fp16",
        builder_options=BuilderOptions(optimization_level=3).text,
        environment=ENVIRONMENT,
    )
    job = build_job(spec, model, path, folder / "out.engine", needs_gpu=True)
    return deliver(stand_in_tools(folder).builder, spec, job).facts_path


def test_facts_beside_the_plan_hold_digest_and_settings(tmp_path: Path) -> None:
    facts = json.loads(delivered(tmp_path, 512).read_text())
    assert facts["bytes"] == (tmp_path / "out.engine").stat().st_size
    assert facts["builder_options"] == {"optimization_level": 3}
    assert facts["profiles"][0]["max"] == {"batch": 8, "seq": 512}
    assert facts["environment"]["gpu"] == "NVIDIA H200"


def test_failed_build_writes_neither_plan_nor_facts(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="could not find any implementation"):
        delivered(tmp_path, 1024)
    assert not list(tmp_path.glob("out.engine*"))
