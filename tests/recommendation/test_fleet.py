"""GPU hours go where they are expected to save most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.recommendation.fleet import Standing, builds_within, next_jobs, shares_of


def standing(name: str = "a", kind: str = "H200", **changes: object) -> Standing:
    facts = {"traffic_s": 1000.0, "gap": 0.1, "build_count": 4, "spent_s": 400.0, "wants_more": True}
    return Standing(name=name, kind=kind, **{**facts, **changes})  # type: ignore[arg-type]


def test_much_traffic_with_a_small_gap_goes_before_little_with_a_large_one() -> None:
    jobs = [standing("small", traffic_s=100, gap=0.5), standing("large", traffic_s=10_000, gap=0.01)]
    assert next_jobs(jobs) == ["large"]


def test_each_kind_of_gpu_works_for_its_own_best_job() -> None:
    jobs = [standing("a"), standing("b", gap=0.2), standing("c", "L4", gap=0.01)]
    assert next_jobs(jobs) == ["b", "c"]


@pytest.mark.parametrize("changes", [{"gap": 0.0}, {"wants_more": False}, {"traffic_s": 0.0}])
def test_job_with_nothing_to_gain_gets_no_builds(changes: dict[str, object]) -> None:
    assert next_jobs([standing(**changes)]) == []


@pytest.mark.parametrize(("left_s", "expected"), [(1000, 6), (250, 2), (99, 0), (-5, 0)])
def test_builds_end_with_the_gpu_hours(left_s: float, expected: int) -> None:
    assert max(0, builds_within(left_s, standing(), 6)) == expected


def test_first_builds_are_not_held_back_by_costs_that_nobody_knows() -> None:
    assert builds_within(10, standing(build_count=0, spent_s=0.0), 6) == 6


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.floats(1.0, 1e6))
def test_shares_add_up_to_what_is_left(gaps: list[float], left_s: float) -> None:
    jobs = {str(n): standing(str(n), f"kind{n}", gap=gap) for n, gap in enumerate(gaps)}
    assert sum(shares_of(left_s, list(jobs), jobs).values()) == pytest.approx(left_s)
