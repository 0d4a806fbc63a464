"""What every runner must do; a subclass gives the runner, a plan and sizes inside and outside of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tuner.errors import RunFailed
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measurement import Mode
from tuner.measurements.runner import Runner, SizeTask
from tuner.measurements.timing import SamplingRule

QUICK = SamplingRule(min_samples=10, max_samples=20, max_ms=200)
FILL = InputFill({})


class RunnerContract:
    """The suite: what is timed is what was asked for, or nothing is."""

    @pytest.fixture
    def runner(self) -> Runner:
        raise NotImplementedError

    @pytest.fixture
    def plan(self, tmp_path: Path) -> Path:
        """A plan with one profile."""
        raise NotImplementedError

    @pytest.fixture
    def small(self) -> SizeTask:
        raise NotImplementedError

    @pytest.fixture
    def outside(self) -> SizeTask:
        raise NotImplementedError

    def test_opened_engine_tells_its_profiles(self, runner: Runner, plan: Path) -> None:
        facts = runner.open(plan, FILL)
        runner.close()
        assert facts.profile_count == 1
        assert facts.tensorrt[0].isdigit()

    def test_every_mode_is_sampled(self, runner: Runner, plan: Path, small: SizeTask) -> None:
        runner.open(plan, FILL)
        timing = runner.time(small, QUICK)
        runner.close()
        for mode in Mode:
            assert len(timing.samples_ms[mode]) >= QUICK.min_samples
            assert min(timing.samples_ms[mode]) > 0
        assert timing.first_run_ms > 0

    def test_a_size_can_be_timed_again_after_another(
        self, runner: Runner, plan: Path, small: SizeTask
    ) -> None:
        runner.open(plan, FILL)
        first, again = runner.time(small, QUICK), runner.time(small, QUICK)
        runner.close()
        assert set(first.samples_ms) == set(again.samples_ms)

    def test_run_after_another_size_has_a_time(self, runner: Runner, plan: Path, small: SizeTask) -> None:
        runner.open(plan, FILL)
        runner.time(small, QUICK)
        change = runner.time_change(small, small)
        runner.close()
        assert change.changed_ms > 0
        assert change.steady_ms > 0

    def test_size_outside_the_profile_is_refused(self, runner: Runner, plan: Path, outside: SizeTask) -> None:
        runner.open(plan, FILL)
        with pytest.raises(RunFailed, match="refuses") as caught:
            runner.time(outside, QUICK)
        runner.close()
        assert caught.value.kind == "size"

    def test_unknown_profile_is_refused(self, runner: Runner, plan: Path, small: SizeTask) -> None:
        runner.open(plan, FILL)
        with pytest.raises(RunFailed, match="no profile 7"):
            runner.time(dataclasses.replace(small, profile_index=7), QUICK)
        runner.close()

    def test_timing_without_an_open_engine_is_refused(self, runner: Runner, small: SizeTask) -> None:
        with pytest.raises(RunFailed, match="no engine is open"):
            runner.time(small, QUICK)

    def test_closing_twice_is_fine(self, runner: Runner, plan: Path) -> None:
        runner.open(plan, FILL)
        runner.close()
        runner.close()
