"""Tests of what changes of size and profile are charged."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.problems import ENCODER, recorded
from tests.strategies import change_costs
from tuner.errors import TunerError
from tuner.measurements.measurement import Mode
from tuner.replay.changes import FREE, ChangeCosts, changes_of

COSTS = ChangeCosts(size_ms=0.2, profile_ms=0.7)


def routed(seed: int, sizes: int, profiles: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.ones(sizes)), generator.integers(0, profiles, sizes)


@given(change_costs(), st.integers(0, 999), st.integers(1, 12), st.integers(1, 4))
def test_average_charge_is_that_of_two_independent_requests(
    costs: ChangeCosts, seed: int, sizes: int, profiles: int
) -> None:
    shares, index = routed(seed, sizes, profiles)
    same_profile = (np.bincount(index, weights=shares) ** 2).sum()
    expected = costs.profile_ms * (1 - same_profile) + costs.size_ms * (same_profile - (shares**2).sum())
    assert costs.charges(shares, index) @ shares == pytest.approx(expected, abs=1e-9)


@given(change_costs(), st.integers(0, 999), st.integers(1, 12))
def test_no_set_pays_less_than_the_least_and_a_lone_profile_just_that(
    costs: ChangeCosts, seed: int, sizes: int
) -> None:
    shares, index = routed(seed, sizes, 3)
    assert (costs.charges(shares, index) >= costs.least(shares)).all()
    alone = costs.charges(shares, np.zeros(sizes, dtype=np.int64))
    assert alone == pytest.approx(costs.least(shares), abs=1e-9)


def test_charges_of_several_sets_are_those_of_each() -> None:
    shares, _ = routed(0, 9, 3)
    indices = np.random.default_rng(1).integers(0, 3, (5, 9))
    together = COSTS.charges(shares, indices)
    assert together.tolist() == [COSTS.charges(shares, index).tolist() for index in indices]


def test_requests_in_random_order_pay_what_is_charged() -> None:
    shares, index = routed(3, 8, 3)
    rows = np.random.default_rng(4).choice(8, 200_000, p=shares)
    is_other_profile = index[rows[1:]] != index[rows[:-1]]
    is_other_size = ~is_other_profile & (rows[1:] != rows[:-1])
    paid = COSTS.profile_ms * is_other_profile + COSTS.size_ms * is_other_size
    for size in range(8):
        own = paid[rows[1:] == size]
        spread = 4 * own.std() / np.sqrt(len(own))
        assert own.mean() == pytest.approx(COSTS.charges(shares, index)[size], abs=spread + 1e-9)


def test_a_change_of_profile_costs_at_least_what_one_of_size_does() -> None:
    facts = dataclasses.replace(recorded(ENCODER).facts, size_change_ms=0.2)
    least = ChangeCosts(size_ms=0.2, profile_ms=0.2)
    assert changes_of(facts, Mode.ENQUEUE) == least
    assert changes_of(dataclasses.replace(facts, switch_ms=0.1), Mode.ENQUEUE) == least
    assert changes_of(dataclasses.replace(facts, switch_ms=0.7), Mode.ENQUEUE) == COSTS


def test_what_was_not_measured_is_free() -> None:
    assert changes_of(recorded(ENCODER).facts, Mode.ENQUEUE) == FREE
    assert FREE.are_free


def test_graphs_of_single_sizes_pay_nothing_for_changes() -> None:
    facts = dataclasses.replace(recorded(ENCODER).facts, size_change_ms=0.2, switch_ms=0.7)
    assert changes_of(facts, Mode.CUDA_GRAPH) == FREE


def test_costs_that_cannot_be_are_refused() -> None:
    with pytest.raises(TunerError, match="0 <= size <= profile is accepted"):
        ChangeCosts(size_ms=0.5, profile_ms=0.1)
