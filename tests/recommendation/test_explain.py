"""Tests of the explanation and of the Pareto front."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.problems import judge_of, table_of
from tuner.axes import Size
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import OptimizationProfile
from tuner.recommendation.explain import explain, second_best
from tuner.recommendation.pareto import pareto_front
from tuner.replay.changes import ChangeCosts
from tuner.traffic.histogram import SizeHistogram

HISTOGRAM = SizeHistogram(("n",), np.array([[1], [2]]), np.array([1, 1]))
JUDGE = judge_of(HISTOGRAM)
OPTS = [Size.of(n=1), Size.of(n=2), Size.of(n=3)]


def measured(memory: int | None, build_s: float | None, opt: int) -> MeasuredProfile:
    profile = OptimizationProfile(Size.of(n=1), Size.of(n=opt), Size.of(n=9))
    return MeasuredProfile(
        profile=profile, curves={}, engine_keys=(), device_memory_bytes=memory, build_s=build_s
    )


def test_dropping_a_profile_costs_what_the_rest_is_slower() -> None:
    found = explain(table_of([[1.0, 4.0], [3.0, 1.0]]), JUDGE, [0, 1], OPTS, ())
    assert found.dropping == (pytest.approx(1.0), pytest.approx(1.5))


def test_dropping_a_profile_saves_the_changes_of_profile() -> None:
    dear = JUDGE.charging(ChangeCosts(profile_ms=2.0))
    found = explain(table_of([[1.0, 4.0], [3.0, 1.0]]), dear, [0, 1], OPTS, ())
    assert found.dropping == (pytest.approx(2.0 / 2.0 - 1), pytest.approx(2.5 / 2.0 - 1))


def test_front_is_led_by_the_set_that_is_best_with_what_changes_cost() -> None:
    table, profiles = table_of([[1.0, 4.0], [3.0, 1.0]]), [measured(1, 1.0, 1), measured(1, 1.0, 2)]
    assert len(pareto_front(table, JUDGE, profiles, 2)[0].opts) == 2
    dear = pareto_front(table, JUDGE.charging(ChangeCosts(profile_ms=9.0)), profiles, 2)
    assert [(len(one.opts), one.value) for one in dear] == [(1, 2.0)]


def test_a_profile_without_which_a_size_is_unserved_cannot_be_dropped() -> None:
    found = explain(table_of([[1.0, np.nan], [3.0, 1.0]]), JUDGE, [0, 1], OPTS, ())
    assert found.dropping[1] is None


def test_second_best_is_the_best_other_set_of_as_many() -> None:
    table = table_of([[1.0, 4.0], [3.0, 1.0], [3.1, 1.1]])
    found = second_best(table, JUDGE, [0, 1])
    assert found is not None
    assert found.rows == (0, 2)
    shown = explain(table, JUDGE, [0, 1], OPTS, ()).second_best
    assert shown is not None
    assert (shown.opts, shown.worse_by) == ((OPTS[0], OPTS[2]), pytest.approx(0.05))


def test_a_lone_profile_has_no_second_best() -> None:
    assert explain(table_of([[1.0, 4.0]]), JUDGE, [0], OPTS, ("why",)).second_best is None


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(0, 999))
def test_nothing_beats_a_set_of_the_front_in_everything(rows: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    latency = generator.uniform(1, 2, (rows, 2))
    profiles = [measured(int(generator.integers(1, 9)), float(generator.integers(1, 9)), 1) for _ in latency]
    front = pareto_front(table_of(latency), JUDGE, profiles, 2)
    points = []
    for count in (1, 2):
        for chosen in itertools.combinations(range(rows), count):
            value = JUDGE.value(latency[list(chosen)].min(axis=0))
            memory = max(profiles[row].device_memory_bytes or 0 for row in chosen)
            points.append((value, memory, sum(profiles[row].build_s or 0 for row in chosen)))
    for found in front:
        own = (found.value, found.memory_bytes, found.build_s)
        assert not any(all(a <= b for a, b in zip(p, own, strict=True)) and p != own for p in points)
    assert front[0].value == min(value for value, _, _ in points)


def test_what_is_not_known_of_a_profile_stays_unknown_in_the_front() -> None:
    front = pareto_front(table_of([[1.0, 1.0]]), JUDGE, [measured(None, 3.0, 1)], 1)
    assert (front[0].memory_bytes, front[0].build_s) == (None, 3.0)
