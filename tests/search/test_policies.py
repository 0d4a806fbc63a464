"""Tests of the best sets by policy: against brute force over ranges, and against the routing itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.problems import ENCODER, encoder_mix, judge_of, recorded
from tests.search.synthetic import SyntheticSource, grid_opts
from tests.strategies import change_costs
from tuner.axes import Size
from tuner.measurements.measurement import Mode
from tuner.profiles.routing import route_sticky
from tuner.replay.changes import FREE, ChangeCosts
from tuner.replay.score import Judge, latency_table
from tuner.search.cuts import best_boxes, best_slabs, cuts_of
from tuner.search.policies import PolicyProblem, best_by_policy, router
from tuner.traffic.histogram import SizeHistogram


def encoder_problem(mix: str, objective: str = "gpu_time", **costs_ms: float) -> PolicyProblem:
    histogram = encoder_mix(mix)
    source = recorded(ENCODER)
    whole = [p for p in source.candidates() if p.max.values == (64, 512)]
    return PolicyProblem(
        measured=tuple(source.measure(p, histogram.sizes) for p in whole),  # type: ignore[misc]
        judge=judge_of(histogram, objective).charging(ChangeCosts(**costs_ms)),
        mode=Mode.ENQUEUE,
        model=source.model,
        bounds=(histogram.smallest, histogram.largest),
        max_profiles=3,
    )


_only_size = ChangeCosts(size_ms=0.5, profile_ms=0.5)
_objectives_and_costs = st.one_of(
    st.tuples(st.just("gpu_time"), change_costs()),
    st.tuples(st.sampled_from(["service_p50", "service_p90"]), st.sampled_from([FREE, _only_size])),
)
"""Of a percentile the search leaves out what a change of profile costs beyond one of size."""


def one_axis_problem(
    seed: int, sizes: int, objective: str, costs: ChangeCosts
) -> tuple[Judge, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    rows = np.arange(1, sizes + 1, dtype=np.int64)[:, None]
    histogram = SizeHistogram(("a",), rows, generator.integers(1, 50, sizes))
    opts = np.sort(generator.choice(sizes, 4, replace=False))[:, None] + 1
    latency = generator.uniform(0.5, 3.0, (4, sizes))
    requests = histogram.counts.astype(np.float64)
    weight = ("requests", "work")[seed % 2]
    return Judge(histogram, requests, objective, weight, changes=costs), latency, opts


def cost_of(judge: Judge, latency: np.ndarray, ranged: list[tuple[int, Size, Size]]) -> float:
    """First fit over ranges as given, size by size."""
    index = [
        next(place for place, (_, low, high) in enumerate(ranged) if low["a"] <= value <= high["a"])
        for (value,) in judge.histogram.sizes.tolist()
    ]
    served = judge.served_ms(latency[[row for row, _, _ in ranged]], np.array(index))
    assert served is not None
    return judge.value(served)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 7), _objectives_and_costs)
def test_no_slabs_of_one_axis_are_better_than_those_found(
    seed: int, sizes: int, wanted: tuple[str, ChangeCosts]
) -> None:
    judge, latency, opts = one_axis_problem(seed, sizes, *wanted)
    largest = judge.histogram.largest
    least = judge.changes.least(judge.shares)
    cuts = cuts_of(judge.histogram, largest)
    found = [r for r in best_slabs(judge, latency + least, opts, cuts, 2) if len(r) == 2]
    best = np.inf
    for cut, first, second in itertools.product(range(1, sizes), range(4), range(4)):
        if opts[first, 0] <= cut < opts[second, 0]:
            ranged = [(first, Size.of(a=1), Size.of(a=cut)), (second, Size.of(a=cut + 1), largest)]
            best = min(best, cost_of(judge, latency, ranged))
    assert min((cost_of(judge, latency, r) for r in found), default=np.inf) == pytest.approx(best)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 7), _objectives_and_costs)
def test_no_nested_boxes_are_better_than_those_found(
    seed: int, sizes: int, wanted: tuple[str, ChangeCosts]
) -> None:
    judge, latency, opts = one_axis_problem(seed, sizes, *wanted)
    largest = judge.histogram.largest
    least = judge.changes.least(judge.shares)
    cuts = cuts_of(judge.histogram, largest)
    found = [r for r in best_boxes(judge, latency + least, opts, cuts, 3) if len(r) == 3]
    best = np.inf
    for lower, upper in itertools.combinations(range(1, sizes), 2):
        for rows in itertools.product(range(4), repeat=3):
            if opts[rows[0], 0] <= lower and opts[rows[1], 0] <= upper:
                ends = (lower, upper, largest["a"])
                ranged = [(r, Size.of(a=1), Size.of(a=end)) for r, end in zip(rows, ends, strict=True)]
                best = min(best, cost_of(judge, latency, ranged))
    assert min((cost_of(judge, latency, r) for r in found), default=np.inf) == pytest.approx(best)


@pytest.mark.parametrize("mix", ["two-tier", "chat-small", "single"])
def test_every_policy_beats_or_equals_a_profile_alone(mix: str) -> None:
    found = best_by_policy(encoder_problem(mix))
    assert set(found) == {"nearest_opt", "profile_zero", "first_fit", "sticky"}
    assert len(found["profile_zero"].profiles) == 1
    for routed in found.values():
        assert routed.value <= found["profile_zero"].value + 1e-12


def test_first_fit_cuts_two_tier_traffic_between_its_tiers() -> None:
    found = best_by_policy(encoder_problem("two-tier"))["first_fit"]
    works = [profile.opt.work for profile in found.profiles]
    assert len(works) > 1
    assert works == sorted(works)


def test_percentiles_have_their_policies_too() -> None:
    found = best_by_policy(encoder_problem("two-tier", "service_p99"))
    assert found["first_fit"].value <= found["profile_zero"].value


def test_a_dear_switch_leaves_one_profile_under_sticky() -> None:
    cheap = best_by_policy(encoder_problem("two-tier"))["sticky"]
    dear = best_by_policy(encoder_problem("two-tier", profile_ms=50.0))["sticky"]
    assert len(cheap.profiles) > 1
    assert len(dear.profiles) == 1
    assert dear.switch_share == 0


@pytest.mark.parametrize("objective", ["gpu_time", "service_p90"])
def test_value_of_every_policy_is_what_the_judge_scores_its_routing_with(objective: str) -> None:
    problem = encoder_problem("two-tier", objective, size_ms=0.05, profile_ms=0.2)
    for policy, routed in best_by_policy(problem).items():
        histogram = problem.judge.histogram
        table = latency_table([m.curve(problem.mode) for m in routed.measured], histogram)
        index = router(policy, routed.profiles, problem.model)(histogram.sizes)
        assert routed.value == problem.judge.score(table, index).value


def test_sticky_really_stays_and_switches_as_often_as_predicted() -> None:
    problem = encoder_problem("two-tier")
    found = best_by_policy(problem)["sticky"]
    histogram = problem.judge.histogram
    generator = np.random.default_rng(0)
    rows = generator.choice(len(histogram), 20_000, p=histogram.counts / histogram.counts.sum())
    index = route_sticky(found.profiles, histogram.sizes[rows])
    assert (index >= 0).all()
    assert np.mean(index[1:] != index[:-1]) == pytest.approx(found.switch_share, abs=0.02)


def test_policies_work_in_three_axes() -> None:
    source = SyntheticSource(3, opts=grid_opts(3, 3))
    sizes = np.array([opt.values for opt in grid_opts(3, 4)], dtype=np.int64)
    histogram = SizeHistogram(source.axes, sizes, np.arange(1, len(sizes) + 1))
    problem = PolicyProblem(
        measured=tuple(source.measure(p, sizes) for p in source.candidates()),  # type: ignore[misc, union-attr]
        judge=judge_of(histogram),
        mode=Mode.ENQUEUE,
        model=source.model,
        bounds=(histogram.smallest, histogram.largest),
        max_profiles=2,
    )
    found = best_by_policy(problem)
    assert found["first_fit"].value <= found["profile_zero"].value
