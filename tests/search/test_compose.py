"""Tests of composition against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.problems import (
    ENCODER,
    MIXES,
    brute_force,
    encoder_mix,
    judge_of,
    recorded,
    table_of,
)
from tests.strategies import change_costs
from tuner.measurements.measurement import Mode
from tuner.replay.changes import ChangeCosts
from tuner.replay.objective import OBJECTIVES
from tuner.replay.score import Judge, latency_table
from tuner.replay.slo import Slo
from tuner.search import compose
from tuner.search.compose import Resources, best_set, best_sets
from tuner.search.solver import median_by_solver
from tuner.traffic.histogram import SizeHistogram


def small_histogram(sizes: int) -> SizeHistogram:
    rows = np.arange(1, sizes + 1, dtype=np.int64)[:, None]
    return SizeHistogram(("n",), rows, np.arange(1, sizes + 1, dtype=np.int64))


def encoder_table(histogram: SizeHistogram):
    source = recorded(ENCODER)
    whole = [p for p in source.candidates() if p.max.values == (64, 512)]
    measured = [source.measure(p, histogram.sizes) for p in whole]
    return latency_table([m.curve(Mode.ENQUEUE) for m in measured], histogram)


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("objective", ["gpu_time", "service_p99"])
def test_composition_finds_what_brute_force_finds_on_the_recorded_encoder(mix: str, objective: str) -> None:
    histogram = encoder_mix(mix)
    table, judge = encoder_table(histogram), judge_of(histogram, objective)
    for count in (1, 2, 3):
        found = best_set(table, judge, count)
        assert found is not None
        assert found.value == pytest.approx(brute_force(table, judge, count))
        assert found.gap is None


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 7),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from(list(OBJECTIVES)),
    st.integers(0, 2**31),
)
def test_no_set_is_better_than_the_composed_one(
    profiles: int, sizes: int, count: int, objective: str, seed: int
) -> None:
    latency = np.random.default_rng(seed).uniform(0.1, 2.0, (profiles, sizes))
    latency[np.random.default_rng(seed).uniform(size=latency.shape) < 0.2] = np.nan
    table, judge = table_of(latency), judge_of(small_histogram(sizes), objective)
    found = best_set(table, judge, count)
    expected = brute_force(table, judge, count)
    assert (np.inf if found is None else found.value) == pytest.approx(expected)


@settings(max_examples=120, deadline=None)
@given(
    st.integers(2, 8),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(list(OBJECTIVES)),
    change_costs(),
    st.integers(0, 2**31),
)
def test_no_set_is_better_than_the_composed_one_with_what_changes_cost(
    profiles: int, sizes: int, count: int, objective: str, costs: ChangeCosts, seed: int
) -> None:
    """Latencies in steps of 0.1, so that profiles tie."""
    generator = np.random.default_rng(seed)
    latency = generator.integers(1, 20, (profiles, sizes)) / 10
    latency[generator.uniform(size=latency.shape) < 0.15] = np.nan
    table = table_of(latency)
    histogram = small_histogram(sizes)
    requests = generator.integers(1, 9, sizes) * histogram.counts.astype(float)
    weight = ("requests", "work")[seed % 2]
    judge = Judge(histogram, requests, objective, weight, changes=costs)
    found = best_set(table, judge, count)
    expected = brute_force(table, judge, count)
    assert (np.inf if found is None else found.value) == pytest.approx(expected)
    if found is not None:
        served = judge.best_served_ms(latency[list(found.rows)])
        assert served is not None
        assert found.value == pytest.approx(judge.value(served))


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 7), st.integers(1, 3), change_costs(), st.integers(0, 2**31))
def test_limits_hold_with_what_changes_cost(profiles: int, count: int, costs: ChangeCosts, seed: int) -> None:
    latency = np.random.default_rng(seed).uniform(0.5, 2.0, (profiles, 5))
    histogram = small_histogram(5)
    slos = (Slo("service_p90", 1.5),)
    judge = Judge(histogram, histogram.counts.astype(float), slos=slos, changes=costs)
    found = best_set(table_of(latency), judge, count)
    assert found is not None
    served = [
        judge.best_served_ms(latency[list(rows)]) for rows in itertools.combinations(range(profiles), count)
    ]
    ranked = [(float(judge.overruns(ms)), judge.value(ms)) for ms in served if ms is not None]
    least = min(overrun for overrun, _ in ranked)
    assert found.overrun == pytest.approx(least, abs=1e-9)
    assert found.value == pytest.approx(min(v for overrun, v in ranked if overrun <= least + 1e-9))


def test_a_dear_change_of_profile_leaves_the_set_whose_requests_stay_together() -> None:
    # Rows 0 and 1 are the fastest pair but share the traffic evenly; row 2 alone is nearly as fast.
    table = table_of([[1.0, 2.0], [2.0, 1.0], [1.2, 1.2]])
    histogram = SizeHistogram(("n",), np.array([[1], [2]]), np.array([50, 50]))
    free = Judge(histogram, histogram.counts.astype(float))
    dear = free.charging(ChangeCosts(profile_ms=1.0))
    assert best_set(table, free, 2).rows == (0, 1)  # type: ignore[union-attr]
    found = best_set(table, dear, 2)
    assert found is not None
    assert found.value == pytest.approx(1.5)  # every pair changes with each other request
    assert best_set(table, dear, 1).value == pytest.approx(1.2)  # type: ignore[union-attr]


def test_past_the_limit_the_gap_holds_for_charged_sets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    latency = np.random.default_rng(3).uniform(0.5, 2.0, (14, 30))
    costs = ChangeCosts(size_ms=0.1, profile_ms=0.4)
    table, judge = table_of(latency), judge_of(small_histogram(30)).charging(costs)
    exact = brute_force(table, judge, 4)
    monkeypatch.setattr(compose, "ENTRY_LIMIT", 100)
    solved = best_set(table, judge, 4)
    assert solved is not None
    assert solved.gap is not None
    assert solved.value * (1 - solved.gap) <= exact <= solved.value + 1e-9


def test_a_row_that_was_asked_for_is_in_the_set() -> None:
    table, judge = table_of([[1.0, 9.0], [9.0, 1.0], [5.0, 5.0]]), judge_of(small_histogram(2))
    found = best_set(table, judge, 2, containing=2)
    assert found is not None
    assert 2 in found.rows
    assert found.rows != best_set(table, judge, 2).rows  # type: ignore[union-attr]


def test_more_profiles_than_rows_give_no_set() -> None:
    sets = best_sets(table_of([[1.0, 2.0]]), judge_of(small_histogram(2)), 3)
    assert [s.rows for s in sets] == [(0,)]


def test_a_set_that_keeps_the_limit_beats_a_faster_one_that_does_not() -> None:
    # Row 0 is faster in the mean, but slow at the larger size.
    table = table_of([[0.1, 6.0], [5.0, 4.9]])
    histogram = SizeHistogram(("n",), np.array([[1], [2]]), np.array([98, 2]))
    free = Judge(histogram, histogram.counts.astype(float))
    limited = Judge(histogram, histogram.counts.astype(float), slos=(Slo("service_p99", 5.0),))
    assert best_set(table, free, 1).rows == (0,)  # type: ignore[union-attr]
    kept = best_set(table, limited, 1)
    assert kept is not None
    assert (kept.rows, kept.overrun) == ((1,), 0.0)


def test_a_limit_that_nothing_keeps_is_reported_with_its_overrun() -> None:
    histogram = small_histogram(2)
    judge = Judge(histogram, histogram.counts.astype(float), slos=(Slo("service_p99", 1.0),))
    found = best_set(table_of([[2.0, 2.0]]), judge, 1)
    assert found is not None
    assert found.overrun == pytest.approx(1.0)


def test_memory_of_a_set_is_its_largest_and_build_time_the_sum() -> None:
    resources = Resources(np.array([10.0, 30.0, 20.0]), np.array([5.0, 5.0, 5.0]))
    histogram = small_histogram(2)
    table = table_of([[2.0, 2.0], [1.0, 1.0], [1.5, 1.5]])
    memory = Judge(histogram, histogram.counts.astype(float), slos=(Slo("device_memory", 20.0),))
    assert best_set(table, memory, 1, resources).rows == (2,)  # type: ignore[union-attr]
    build = Judge(histogram, histogram.counts.astype(float), slos=(Slo("build_time", 9.0),))
    assert best_set(table, build, 2, resources).overrun == pytest.approx(1 / 9)  # type: ignore[union-attr]


def test_past_the_limit_of_enumeration_the_solver_finds_the_same_set(monkeypatch: pytest.MonkeyPatch) -> None:
    latency = np.random.default_rng(3).uniform(0.5, 2.0, (14, 30))
    table, judge = table_of(latency), judge_of(small_histogram(30))
    exact = best_set(table, judge, 4)
    monkeypatch.setattr(compose, "ENTRY_LIMIT", 100)
    solved = best_set(table, judge, 4)
    assert solved is not None
    assert solved.value == pytest.approx(exact.value, rel=1e-3)  # type: ignore[union-attr]


def test_past_the_limit_a_percentile_is_not_called_the_proven_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "ENTRY_LIMIT", 100)
    latency = np.random.default_rng(3).uniform(0.5, 2.0, (14, 30))
    found = best_set(table_of(latency), judge_of(small_histogram(30), "service_p90"), 4)
    assert found is not None
    assert found.gap is not None
    assert np.isnan(found.gap)


def test_solver_bounds_the_best_set_from_below() -> None:
    latency = np.random.default_rng(0).uniform(0.5, 2.0, (8, 40))
    weights = np.full(40, 1 / 40)
    rows, bound = median_by_solver(latency, weights, 2)
    best = min((latency[list(pair)].min(axis=0) @ weights) for pair in itertools.combinations(range(8), 2))
    assert bound <= best + 1e-9
    assert latency[list(rows)].min(axis=0) @ weights <= best * 1.001


def test_solver_claims_no_bound_where_it_merged_sizes() -> None:
    latency = np.random.default_rng(0).uniform(0.5, 2.0, (8, 400))
    weights = np.full(400, 1 / 400)
    rows, bound = median_by_solver(latency, weights, 2)
    best = min((latency[list(pair)].min(axis=0) @ weights) for pair in itertools.combinations(range(8), 2))
    assert np.isnan(bound)
    assert latency[list(rows)].min(axis=0) @ weights <= best * 1.05
