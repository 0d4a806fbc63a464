"""The builder's contract on TensorRT-RTX, which builds for real on a machine without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.builder_contract import BuilderContract, replaced, tiny_range
from tests.models import save
from tuner.axes import Size
from tuner.engines.builder import Builder, BuilderOptions, build_job
from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import BuildFailed
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

pytestmark = pytest.mark.rtx
pytest.importorskip("tensorrt_rtx", reason="needs TensorRT-RTX: pip install 'trt-profile-tuner[rtx]'")


class TestRtxBuilder(BuilderContract):
    flavour = "tensorrt_rtx"

    @pytest.fixture
    def builder(self, tmp_path: Path) -> Builder:
        return ChildBuilder(Limits(seconds=120), tmp_path / "logs")

    def test_fp16_on_an_fp32_model_is_refused_rather_than_ignored(
        self, builder: Builder, tmp_path: Path
    ) -> None:
        job = self.job(tmp_path, tiny_range(1, 4, 8))
        with pytest.raises(BuildFailed, match=r"fp16 would be ignored.*FP32 model; convert it to FP16"):
            builder.build(replaced(job, precision="fp16"))

    def test_unknown_tactic_source_lists_those_there_are(self, builder: Builder, tmp_path: Path) -> None:
        job = self.job(tmp_path, tiny_range(1, 4, 8))
        with pytest.raises(BuildFailed, match=r"'cublas' is unknown.*jit_convolutions"):
            builder.build(replaced(job, options=BuilderOptions(tactic_sources=("cublas",))))

    @pytest.mark.parametrize(
        ("name", "low", "opt", "high"),
        [
            ("tiny_encoder", (1, 16), (4, 64), (8, 128)),
            ("formula", (1, 2), (2, 8), (4, 16)),
            ("shape_tensor", (2, 4, 8), (4, 8, 8), (8, 16, 8)),
        ],
    )
    def test_every_kind_of_input_gets_its_range(
        self, builder: Builder, tmp_path: Path, name: str, low: tuple[int, ...], opt: tuple[int, ...],
        high: tuple[int, ...],
    ) -> None:  # fmt: skip
        path = save(name, tmp_path / f"{name}.onnx")
        model = read_onnx(path)
        profile = OptimizationProfile(*(Size(model.axes, values) for values in (low, opt, high)))
        spec = EngineSpec(
            model_hash=str(model.content_hash),
            profiles=ProfileSet((profile,)),
            precision="fp32",
            builder_options=BuilderOptions().text,
            environment=Environment(gpu="none", tensorrt="1.7", flavour=self.flavour),
        )
        built = builder.build(build_job(spec, model, path, tmp_path / "out.engine", needs_gpu=False))
        assert built.plan_bytes > 0
