"""Tests of the routing policies: every size goes to a profile that covers it, or is said to be uncovered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histograms, profile_sets
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import (
    NOT_COVERED,
    RoutingTable,
    route_best,
    route_first_fit,
    route_nearest_opt,
    route_profile_zero,
    route_sticky,
)
from tuner.traffic.histogram import SizeHistogram

MODEL = Model("m", (TensorSpec("x", "float32", (axis_dimension("batch"), axis_dimension("seq"))),))


def profile(low: tuple[int, int], opt: tuple[int, int], high: tuple[int, int]) -> OptimizationProfile:
    return OptimizationProfile(*(Size.of(batch=b, seq=s) for b, s in (low, opt, high)))


NEAR, FAR = profile((1, 1), (1, 16), (64, 512)), profile((1, 1), (32, 512), (64, 512))
SIZES = np.array([[1, 512], [30, 16], [64, 600]])


@given(profile_sets(), histograms(), st.integers(0, 100))
def test_every_policy_sends_a_size_to_a_covering_profile_or_to_none(
    profiles: ProfileSet, histogram: SizeHistogram, seed: int
) -> None:
    sizes = histogram.sizes
    latency = np.random.default_rng(seed).uniform(0.1, 1, (len(profiles), len(sizes)))
    routed = {
        "best": route_best(profiles, sizes, latency),
        "first_fit": route_first_fit(profiles, sizes),
        "sticky": route_sticky(profiles, sizes),
        "nearest_opt": route_nearest_opt(profiles, sizes, MODEL),
        "table": RoutingTable(profiles, {}).route(sizes),
    }
    covered = profiles.covers_rows(sizes)
    for index in routed.values():
        assert ((index != NOT_COVERED) == covered).all()
        for row, chosen in enumerate(index):
            assert chosen == NOT_COVERED or profiles.profiles[chosen].covers(histogram.size(row))


def test_best_takes_the_fastest_covering_profile_and_the_lower_index_of_equals() -> None:
    latency = np.array([[2.0, 1.0, np.nan], [1.0, 1.0, np.nan]])
    assert route_best(ProfileSet((NEAR, FAR)), SIZES, latency).tolist() == [1, 0, NOT_COVERED]


def test_nearest_opt_compares_each_dimension_with_its_left_neighbour() -> None:
    # Triton's own formula: |opt[0] - B| + |opt[1] - B|; the sequence length never counts.
    index = route_nearest_opt(ProfileSet((NEAR, FAR)), np.array([[1, 512], [32, 16], [64, 512]]), MODEL)
    assert index.tolist() == [0, 0, 0]
    close = profile((1, 1), (32, 40), (64, 512))
    assert route_nearest_opt(ProfileSet((FAR, close)), np.array([[32, 512]]), MODEL).tolist() == [1]


def test_profile_zero_serves_what_it_covers_and_nothing_else() -> None:
    small = profile((1, 1), (1, 16), (8, 64))
    assert route_profile_zero(ProfileSet((small, FAR)), np.array([[1, 64], [16, 64]])).tolist() == [0, -1]


def test_sticky_stays_until_its_profile_does_not_cover_any_more() -> None:
    small = profile((1, 1), (1, 16), (8, 64))
    sizes = np.array([[1, 16], [16, 16], [1, 16], [64, 600], [2, 16]])
    assert route_sticky(ProfileSet((small, FAR)), sizes).tolist() == [0, 1, 1, NOT_COVERED, 1]


def test_a_table_that_sends_a_size_where_it_is_not_covered_cannot_be_made() -> None:
    small = profile((1, 1), (1, 16), (8, 64))
    with pytest.raises(TunerError, match="routing sends batch=9,seq=1 to profile 0"):
        RoutingTable(ProfileSet((small,)), {Size.of(batch=9, seq=1): 0})


def test_a_size_that_is_not_listed_goes_to_the_nearest_opt_by_ratio() -> None:
    table = RoutingTable(ProfileSet((NEAR, FAR)), {Size.of(batch=1, seq=16): 1})
    assert table.route(np.array([[1, 16], [1, 17], [30, 500]])).tolist() == [1, 0, 1]
