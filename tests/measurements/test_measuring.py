"""Tests of how the sizes of an engine are visited, with a runner that plays given times."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.gpu_state import GpuState
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measurement import Measurement, Mode
from tuner.measurements.measuring import SwitchCosts, Visiting, measure_tasks
from tuner.measurements.runner import Change, EngineFacts, OutputCheck, SizeTask, SizeTiming
from tuner.measurements.timing import SamplingRule

FIRST_MS = {1024: 95.0, 960: 80.0}
STEADY_MS = {1024: (5.0, 5.2, 5.1), 960: (4.8, 4.9, 4.7)}


@dataclass
class PlayingRunner:
    """Gives the same times for a size at every visit, and remembers the visits."""

    visits: list[int] = field(default_factory=list)
    changes: list[tuple[int, int]] = field(default_factory=list)
    run_ms: float = 0.5

    def open(self, plan_path: Path, fill: InputFill) -> EngineFacts:
        return EngineFacts(tensorrt="0", profile_count=1)

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        width = task.size["width"]
        self.visits.append(width)
        return SizeTiming(
            samples_ms={Mode.ENQUEUE: STEADY_MS.get(width, (2.5,))},
            precise=frozenset({Mode.ENQUEUE}),
            first_run_ms=FIRST_MS.get(width, 50.0),
        )

    def time_change(self, before: SizeTask, task: SizeTask) -> Change:
        assert before.size != task.size
        self.changes.append((before.profile_index, task.profile_index))
        is_same = before.profile_index == task.profile_index
        return Change(changed_ms=self.run_ms + (0.02 if is_same else 0.05), steady_ms=self.run_ms)

    def close(self) -> None:
        return


def task(width: int, profile_index: int = 0) -> SizeTask:
    return SizeTask(size=Size.of(width=width), profile_index=profile_index, shapes={}, values={}, outputs={})


def measured(runner: PlayingRunner, **how: int) -> list[Measurement | SwitchCosts]:
    tasks = [task(1024), task(960)]
    return list(measure_tasks(runner, tasks, Visiting(**how), fill="ones", read_state=lambda: None))


def test_first_run_after_a_size_is_apart_from_its_samples() -> None:
    by_width = {m.size["width"]: m for m in measured(PlayingRunner()) if isinstance(m, Measurement)}
    assert {w: m.summary.p50_ms for w, m in by_width.items()} == {1024: 5.1, 960: 4.8}
    assert {w: m.summary.p99_ms for w, m in by_width.items()} == {1024: 5.2, 960: 4.9}
    assert {w: m.first_run_ms for w, m in by_width.items()} == FIRST_MS


def test_heaviest_size_heats_and_then_each_size_is_visited_once_a_round() -> None:
    runner = PlayingRunner()
    measured(runner, rounds=3)
    assert runner.visits[0] == 1024
    rounds = [sorted(runner.visits[1 + 2 * i : 3 + 2 * i]) for i in range(3)]
    assert rounds == [[960, 1024]] * 3


def test_samples_of_all_rounds_are_kept() -> None:
    found = [m for m in measured(PlayingRunner(), rounds=2) if isinstance(m, Measurement)]
    assert all(len(m.samples_ms) == m.summary.sample_count == 6 for m in found)


def test_same_seed_gives_the_same_order() -> None:
    one, other = PlayingRunner(), PlayingRunner()
    measured(one, rounds=5, seed=7)
    measured(other, rounds=5, seed=7)
    assert one.visits == other.visits


def test_change_of_size_costs_what_the_next_run_takes_longer() -> None:
    costs = measured(PlayingRunner())[-1]
    assert isinstance(costs, SwitchCosts)
    assert costs.size_ms == pytest.approx(0.02)
    assert costs.profile_ms is None


def test_change_of_profile_costs_apart_from_a_change_of_size() -> None:
    runner = PlayingRunner()
    tasks = [task(1024), task(960), task(512, profile_index=1)]
    *_, costs = measure_tasks(runner, tasks, Visiting(), fill="ones", read_state=lambda: None)
    assert isinstance(costs, SwitchCosts)
    assert (costs.size_ms, costs.profile_ms) == (pytest.approx(0.02), pytest.approx(0.05))


def test_changes_of_slow_engines_are_few() -> None:
    slow = PlayingRunner(run_ms=100.0)
    measured(slow)
    assert len(slow.changes) == 5


def test_one_size_has_nothing_to_change_to() -> None:
    *_, costs = measure_tasks(PlayingRunner(), [task(960)], Visiting(), fill="ones", read_state=lambda: None)
    assert costs == SwitchCosts(size_ms=None, profile_ms=None)


def test_state_of_the_gpu_reaches_the_caveats() -> None:
    found = measure_tasks(
        PlayingRunner(),
        [task(960)],
        Visiting(),
        fill="ones",
        read_state=lambda: GpuState(other_process_count=1),
    )
    first = next(iter(found))
    assert isinstance(first, Measurement)
    assert any(text.startswith("shared") for text in first.caveats)


def test_no_visit_at_all_is_refused() -> None:
    with pytest.raises(TunerError, match="0 rounds"):
        Visiting(rounds=0)


def test_utilisation_of_a_size_is_the_median_of_its_visits() -> None:
    seen = iter([0.2, 0.6, 0.4, 0.8, 0.6, 1.0])
    rates: dict[int, list[float]] = {1024: [], 960: []}
    runner = PlayingRunner()

    def state() -> GpuState:
        rates[runner.visits[-1]].append(next(seen))
        return GpuState(utilisation=rates[runner.visits[-1]][-1])

    tasks = [task(1024), task(960)]
    found = list(measure_tasks(runner, tasks, Visiting(rounds=3), fill="ones", read_state=state))
    by_width = {m.size["width"]: m.utilisation for m in found if isinstance(m, Measurement)}
    assert by_width == {width: sorted(values)[1] for width, values in rates.items()}
