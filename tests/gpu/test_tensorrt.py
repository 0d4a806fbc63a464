"""Contracts and one whole run on real TensorRT with a GPU."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contracts.builder_contract import BuilderContract, replaced, tiny_job, tiny_range
from tests.contracts.runner_contract import FILL, QUICK, RunnerContract
from tests.models import save
from tuner.axes import Size
from tuner.engines.builder import Builder, BuilderOptions, build_job
from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.engines.spec import EngineSpec, Environment
from tuner.measurements.gpu_state import gpu_facts, read_gpu_state
from tuner.measurements.runner import Runner, SizeTask
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_facts() is None, reason="no NVIDIA GPU answers through NVML"),
]
NO_LIBRARIES = BuilderOptions(tactic_sources=())


def builder_in(folder: Path) -> ChildBuilder:
    return ChildBuilder(Limits(seconds=240), folder / "logs")


def built(folder: Path, name: str, *profiles: OptimizationProfile, precision: str = "fp32") -> Path:
    path = save(name, folder / f"{name}.onnx")
    model = read_onnx(path)
    spec = EngineSpec(
        model_hash=str(model.content_hash),
        profiles=ProfileSet(profiles),
        precision=precision,
        builder_options=NO_LIBRARIES.text,
        environment=Environment(gpu="here", tensorrt="here"),
    )
    job = build_job(spec, model, path, folder / f"{name}.engine", needs_gpu=True)
    return Path(builder_in(folder).build(job).plan_path)


def batches(low: int, opt: int, high: int) -> OptimizationProfile:
    return OptimizationProfile(*(Size.of(batch=b) for b in (low, opt, high)))


def tiny_task(batch: int, profile_index: int = 0) -> SizeTask:
    return SizeTask(
        size=Size.of(batch=batch),
        profile_index=profile_index,
        shapes={"x": (batch, 16)},
        values={},
        outputs={"output": (batch, 8)},
    )


@pytest.fixture(scope="module")
def tiny_plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("plan"), "tiny", batches(1, 4, 8))


class TestTensorRTBuilder(BuilderContract):
    flavour = "tensorrt"
    needs_gpu = True

    @pytest.fixture
    def builder(self, tmp_path: Path) -> Builder:
        return builder_in(tmp_path)

    def test_broken_timing_cache_is_refused_and_left_alone(self, builder: Builder, tmp_path: Path) -> None:
        cache = tmp_path / "broken.timing"
        cache.write_bytes(b"no timing cache at all")
        job = tiny_job(tmp_path, "tensorrt", tiny_range(1, 4, 8), needs_gpu=True)
        plan = builder.build(replaced(job, timing_cache=str(cache)))
        assert plan.timing_cache.startswith("refused")
        assert cache.read_bytes() == b"no timing cache at all"


class TestTensorRTRunner(RunnerContract):
    @pytest.fixture
    def runner(self) -> Runner:
        from tuner.measurements.tensorrt_runner import TensorRTRunner

        return TensorRTRunner()

    @pytest.fixture
    def plan(self, tiny_plan: Path) -> Path:
        return tiny_plan

    @pytest.fixture
    def small(self) -> SizeTask:
        return tiny_task(2)

    @pytest.fixture
    def outside(self) -> SizeTask:
        return tiny_task(9)


def test_each_profile_answers_right_however_often_they_alternate(tmp_path: Path) -> None:
    from tuner.measurements.tensorrt_runner import TensorRTRunner

    plan = built(tmp_path, "shape_tensor", *_shape_tensor_profiles())
    model = read_onnx(tmp_path / "shape_tensor.onnx")
    runner = TensorRTRunner()
    runner.open(plan, FILL)
    errors: list[float] = []

    def compare(inputs: Any, outputs: Any) -> None:
        wanted = np.maximum(inputs["data"], 0).reshape(outputs["output"].shape)
        errors.append(float(np.abs(outputs["output"] - wanted).max()))

    for n, index in ((2, 0), (64, 1), (2, 0), (64, 1), (2, 0)):
        size = Size(model.axes, (n, 2 * n, 8))
        runner.time(SizeTask.of(model, size, index), QUICK, compare)
    runner.close()
    assert errors == [0.0] * 5


def test_contexts_share_the_gpu_each_in_its_own_profile(tmp_path: Path) -> None:
    from tuner.measurements.tensorrt_runner import TensorRTRunner

    plan = built(tmp_path, "tiny", batches(1, 4, 8), batches(1, 4, 8))
    runner = TensorRTRunner()
    runner.open(plan, FILL)
    timings = [runner.time_contexts([tiny_task(4, i) for i in range(n)], 50) for n in (1, 2)]
    runner.close()
    assert [timing.contexts for timing in timings] == [1, 2]
    assert all(0 < timing.p50_ms <= timing.p99_ms for timing in timings)


def _shape_tensor_profiles() -> tuple[OptimizationProfile, ...]:
    axes = ("n", "target[0]", "target[1]")
    return tuple(OptimizationProfile(*[Size(axes, (n, 2 * n, 8))] * 3) for n in (2, 64))


def test_gpu_state_tells_clocks_and_memory() -> None:
    state = read_gpu_state()
    assert state is not None
    assert state.sm_clock_mhz
    assert state.memory_used_bytes


def test_digest_of_a_plan_is_that_of_its_file(tmp_path: Path) -> None:
    job = tiny_job(tmp_path, "tensorrt", tiny_range(1, 4, 8), needs_gpu=True)
    plan = builder_in(tmp_path).build(job)
    assert hashlib.sha256(Path(plan.plan_path).read_bytes()).hexdigest() == plan.plan_digest
    assert plan.device_memory_bytes is not None
