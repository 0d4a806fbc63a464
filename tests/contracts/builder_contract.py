"""What every builder must do, whatever stands behind it; a subclass gives `builder` and `flavour`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.models import save
from tuner.engines.builder import Builder, BuilderOptions, BuildJob, InputRange
from tuner.errors import BuildFailed
from tuner.profiles.profile import TensorRange


def tiny_range(low: int, opt: int, high: int) -> TensorRange:
    return TensorRange((low, 16), (opt, 16), (high, 16))


def tiny_job(folder: Path, flavour: str, *ranges: TensorRange, needs_gpu: bool = False) -> BuildJob:
    tensor = InputRange(name="x", dtype="float32", shape=(-1, 16), is_shape_tensor=False, ranges=ranges)
    return BuildJob(
        flavour=flavour,
        model_path=str(save("tiny", folder / "tiny.onnx")),
        plan_path=str(folder / "tiny.engine"),
        precision="fp32",
        options=BuilderOptions(tactic_sources=()),
        inputs=(tensor,),
        needs_gpu=needs_gpu,
    )


def replaced(job: BuildJob, **changes: object) -> BuildJob:
    return BuildJob(**{**{f: getattr(job, f) for f in BuildJob.__slots__}, **changes})


class BuilderContract:
    """The suite; the plan and its facts are checked, not how they came about."""

    flavour: str
    needs_gpu = False

    @pytest.fixture
    def builder(self, tmp_path: Path) -> Builder:
        raise NotImplementedError

    def job(self, folder: Path, *ranges: TensorRange) -> BuildJob:
        return tiny_job(folder, self.flavour, *ranges, needs_gpu=self.needs_gpu)

    def test_version_is_told(self, builder: Builder) -> None:
        assert builder.describe(self.flavour)[0].isdigit()

    def test_plan_is_on_disk_with_its_digest(self, builder: Builder, tmp_path: Path) -> None:
        built = builder.build(self.job(tmp_path, tiny_range(1, 4, 8)))
        plan = Path(built.plan_path).read_bytes()
        assert len(plan) == built.plan_bytes > 0
        assert hashlib.sha256(plan).hexdigest() == built.plan_digest
        assert built.build_s > 0
        assert built.precision == "fp32"

    def test_several_profiles_go_into_one_engine(self, builder: Builder, tmp_path: Path) -> None:
        built = builder.build(self.job(tmp_path, tiny_range(1, 1, 1), tiny_range(1, 4, 8)))
        assert built.profiles_read_from == ("engine" if self.needs_gpu else "builder")

    def test_min_above_opt_is_refused(self, builder: Builder, tmp_path: Path) -> None:
        with pytest.raises(BuildFailed, match=r"x.*min <= opt <= max") as caught:
            builder.build(self.job(tmp_path, tiny_range(4, 1, 8)))
        assert caught.value.kind == "profile"
        assert not (tmp_path / "tiny.engine").exists()

    def test_wrong_fixed_dimension_is_refused(self, builder: Builder, tmp_path: Path) -> None:
        wrong = TensorRange((1, 17), (4, 17), (8, 17))
        with pytest.raises(BuildFailed, match=r"\(1, 17\).*\(-1, 16\)"):
            builder.build(self.job(tmp_path, wrong))

    def test_input_that_no_profile_mentions_is_refused(self, builder: Builder, tmp_path: Path) -> None:
        with pytest.raises(BuildFailed, match="x is dynamic and no profile"):
            builder.build(self.job(tmp_path))

    def test_input_that_the_network_lacks_is_refused(self, builder: Builder, tmp_path: Path) -> None:
        job = self.job(tmp_path, tiny_range(1, 4, 8))
        other = InputRange(name="y", dtype="float32", shape=(-1, 16), is_shape_tensor=False, ranges=())
        with pytest.raises(BuildFailed, match=r"\['x'\].*\['x', 'y'\]"):
            builder.build(replaced(job, inputs=(*job.inputs, other)))

    def test_all_parser_errors_name_their_nodes(self, builder: Builder, tmp_path: Path) -> None:
        job = self.job(tmp_path, tiny_range(1, 4, 8))
        with pytest.raises(
            BuildFailed, match=r"node 0 '\w+' \(Twiddle\), node 1 '\w+' \(Frobnicate\)"
        ) as caught:
            builder.build(replaced(job, model_path=str(save("unsupported", tmp_path / "unsupported.onnx"))))
        assert caught.value.kind == "parser"
