"""Tests of the source that builds and times, over children that stand in for TensorRT."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.stand_ins.stand_in_bench import stand_in_bench
from tuner.axes import Size
from tuner.errors import RunFailed
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile
from tuner.measurements.store import open_store
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.traffic.histogram import SizeHistogram

AXES = ("batch", "seq")
SIZES = np.array([[1, 16], [1, 64], [4, 128], [64, 512]], dtype=np.int64)
TRAFFIC = SizeHistogram(AXES, SIZES, np.array([5, 10, 3, 1]))
ROOT = Path(__file__).parents[2]


def whole(opt: tuple[int, int]) -> OptimizationProfile:
    return OptimizationProfile(Size(AXES, (1, 16)), Size(AXES, opt), Size(AXES, (64, 512)))


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/store.db"


def build_logs(folder: Path) -> list[Path]:
    return list((folder / "logs").glob("*.engine.log"))


def test_curve_covers_the_traffic_in_both_modes(tmp_path: Path) -> None:
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=3))
        measured = source.measure(whole((4, 128)), SIZES)
    assert isinstance(measured, MeasuredProfile)
    for mode in Mode:
        latency, interpolated = measured.curve(mode).latencies(SIZES)
        assert np.isfinite(latency).all()
        assert not interpolated.any()
    assert source.facts.origin == "measured"
    assert source.facts.build_count == 1


def test_nothing_is_built_or_timed_twice(tmp_path: Path) -> None:
    for _ in range(2):
        with open_store(url(tmp_path)) as store:
            source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=3))
            source.measure(whole((4, 128)), SIZES)
            source.measure(whole((4, 128)), SIZES)
    assert len(list((tmp_path / "plans").glob("*.engine"))) == 1
    assert len(list((tmp_path / "logs").glob("*.run.log"))) == 1
    with open_store(url(tmp_path)) as store:
        (engine,) = store.engines()
        # Four sizes of the traffic and two more corners of the range, in two modes.
        assert len(store.measurements(engine.spec.key, 0)) == 12


def test_narrower_profile_takes_the_curve_of_its_wider_twin(tmp_path: Path) -> None:
    narrow = OptimizationProfile(Size(AXES, (4, 64)), Size(AXES, (4, 128)), Size(AXES, (16, 128)))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=1))
        wide = source.measure(whole((4, 128)), SIZES)
        assert source.measure(narrow, SIZES) is wide


def test_spent_builds_are_a_failure_that_another_run_takes_up(tmp_path: Path) -> None:
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=1))
        source.measure(whole((4, 128)), SIZES)
        failed = source.measure(whole((1, 128)), SIZES)
        assert isinstance(failed, FailedProfile)
        assert failed.kind == "budget"
        more = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=2))
        assert isinstance(more.measure(whole((1, 128)), SIZES), MeasuredProfile)


def test_spent_hours_start_no_build(tmp_path: Path) -> None:
    clock = iter([0.0, 7200.0, 7200.0])
    with open_store(url(tmp_path)) as store:
        budget = BuildBudget(builds=9, seconds=3600)
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, budget, lambda: next(clock))
        failed = source.measure(whole((4, 128)), SIZES)
    assert isinstance(failed, FailedProfile)
    assert "1 hours of the budget are spent" in failed.reason


def test_failed_build_is_an_outcome_in_the_store(tmp_path: Path) -> None:
    too_long = OptimizationProfile(Size(AXES, (1, 16)), Size(AXES, (4, 128)), Size(AXES, (64, 1024)))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=3))
        failed = source.measure(too_long, SIZES)
        (engine,) = store.engines()
    assert isinstance(failed, FailedProfile)
    assert failed.kind == engine.outcome == "workspace"
    assert "could not find any implementation" in str(engine.reason)


def test_impossible_maximum_is_refused_before_any_build(tmp_path: Path) -> None:
    huge = OptimizationProfile(Size(AXES, (1, 16)), Size(AXES, (4, 128)), Size(AXES, (65536, 262144)))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=3))
        failed = source.measure(huge, SIZES)
    assert isinstance(failed, FailedProfile)
    assert failed.kind == "gpu_memory"
    assert "input_ids 137438953472" in failed.reason
    assert build_logs(tmp_path) == []


def test_plan_that_is_not_ours_is_not_loaded(tmp_path: Path) -> None:
    with open_store(url(tmp_path)) as store:
        bench = stand_in_bench(tmp_path, store)
        engine = bench.build(bench.spec(ProfileSet((whole((4, 128)),))), 0)
        bench.tools.plans.path(engine.spec.key, 0).write_text("something else")
        with pytest.raises(RunFailed, match="not the one that was built"):
            bench.time(engine, [(0, Size(AXES, (1, 16)))])


def test_set_is_confirmed_as_one_engine_outside_of_the_budget(tmp_path: Path) -> None:
    small = OptimizationProfile(Size(AXES, (1, 16)), Size(AXES, (1, 32)), Size(AXES, (1, 64)))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=0))
        confirmed = source.confirm(ProfileSet((small, whole((4, 128)))))
        (engine,) = store.engines()
        assert source.facts.switch_ms == engine.profile_change_ms
    assert len(engine.spec.profiles) == 2
    assert engine.profile_change_ms is not None
    assert engine.size_change_ms is not None
    assert [len(one.curve(Mode.ENQUEUE).sizes) for one in confirmed] == [3, 6]
    assert source.facts.build_count == 0


def test_a_profile_that_is_given_up_is_timed_at_its_heaviest_sizes_alone(tmp_path: Path) -> None:
    seen = []

    def stop(curve: Curve) -> str:
        seen.append(curve.sizes.tolist())
        return "too slow"

    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=1))
        outcome = source.measure(whole((4, 128)), SIZES, stop)
        assert isinstance(outcome, FailedProfile)
        assert (outcome.kind, outcome.reason) == ("pruned", "too slow")
        (engine,) = store.engines()
        assert len(store.measurements(engine.spec.key, 0)) == 2 * len(seen[0])
        assert [64, 512] in seen[0]
        # Asked for without a reason to stop it is timed to the end, and not built again.
        assert isinstance(source.measure(whole((4, 128)), SIZES), MeasuredProfile)
    assert len(build_logs(tmp_path)) == 1


def test_a_set_is_rebuilt_as_often_as_asked_to_confirm_it(tmp_path: Path) -> None:
    profiles = ProfileSet((whole((1, 64)), whole((4, 128))))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BuildBudget(builds=0))
        confirmed = source.confirm(profiles, 2)
        assert [m.curve(Mode.ENQUEUE).build_count for m in confirmed] == [2, 2]
        source.confirm(profiles, 2)
    assert len(build_logs(tmp_path)) == 2


@pytest.mark.parametrize("stage", ["build", "measure"])
def test_killed_run_goes_on_where_it_was(tmp_path: Path, stage: str) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.measurements.test_built_source import *\n"
        "folder = Path(sys.argv[1])\n"
        "with open_store(url(folder)) as store:\n"
        "    source = BuiltSource(stand_in_bench(folder, store), TRAFFIC, BuildBudget(builds=3))\n"
        "    source.measure(whole((4, 128)), SIZES)\n"
    )
    if stage == "measure":
        with open_store(url(tmp_path)) as store:
            bench = stand_in_bench(tmp_path, store)
            bench.build(bench.spec(ProfileSet((whole((4, 128)),))), 0)
    slow = tmp_path / "plans" / "slow"
    slow.parent.mkdir(exist_ok=True)
    slow.touch()
    run = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT)
    log = "*.run.log" if stage == "measure" else "*.engine.log"
    _wait_for(lambda: bool(list((tmp_path / "logs").glob(log))))
    if stage == "measure":
        _wait_for(lambda: _measurement_count(tmp_path) > 0)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    before = _measurement_count(tmp_path)
    assert before < 12
    slow.unlink()
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT, check=True)
    assert _measurement_count(tmp_path) == 12
    with open_store(url(tmp_path)) as store:
        assert [engine.repeat for engine in store.engines()] == [0]


def _measurement_count(folder: Path) -> int:
    with open_store(url(folder)) as store:
        return sum(len(store.measurements(e.spec.key, e.repeat)) for e in store.engines())


def _wait_for(happened: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_error_of_interpolation_is_measured_and_told(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sizes = np.stack([random.integers(1, 65, 3000), random.integers(16, 513, 3000)], axis=1)
    busy = SizeHistogram(AXES, sizes, np.ones(len(sizes), np.int64))
    with open_store(url(tmp_path)) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), busy, BuildBudget(builds=1))
        measured = source.measure(whole((4, 128)), busy.sizes)
    assert isinstance(measured, MeasuredProfile)
    assert source.facts.interpolation_error is not None
    assert 0 < source.facts.interpolation_error < 0.2
