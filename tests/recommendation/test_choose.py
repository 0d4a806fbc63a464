"""Tests of choosing past noise and of the final ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histograms
from tuner.axes import Size
from tuner.errors import NothingFeasible
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import RoutingTable
from tuner.recommendation.choose import Contender, allowed_counts, choose, final_ranges
from tuner.recommendation.gain import Gain, Served, gain_between, interval_of
from tuner.recommendation.recommendation import Evaluated
from tuner.replay.score import Judge
from tuner.search.compose import ComposedSet
from tuner.traffic.histogram import SizeHistogram

PROFILE = OptimizationProfile(Size.of(n=1), Size.of(n=1), Size.of(n=9))


def contender(name: str, count: int) -> Contender:
    profiles = ProfileSet((PROFILE,) * count)
    served = Served(np.array([1.0]), (PROFILE.opt,), np.array([0]))
    return Contender(
        name=name,
        rows=tuple(range(count)),
        measured=(),
        evaluated=Evaluated(profiles=profiles, tune=None, holdout=None),
        routing=RoutingTable(profiles, {}),
        served=served,
    )


def gains(**by_name: Gain):
    return lambda old, new: by_name[new.name]


def test_one_more_profile_wins_when_its_gain_is_past_noise_and_margin() -> None:
    sets = {1: contender("one", 1), 2: contender("two", 2)}
    choice = choose(sets, [], gains(two=Gain(0.05, 0.02, 0.08)))
    assert choice.chosen.name == "two"


@pytest.mark.parametrize(
    ("gain", "why"),
    [
        (Gain(0.05, -0.01, 0.11), "no more than noise"),
        (Gain(0.008, 0.005, 0.011), "less than 1%"),
        (Gain(-0.02, -0.05, 0.01), "is no better than one"),
    ],
)
def test_a_gain_below_noise_or_margin_goes_to_the_simpler_set(gain: Gain, why: str) -> None:
    choice = choose({1: contender("one", 1), 2: contender("two", 2)}, [], gains(two=gain))
    assert choice.chosen.name == "one"
    assert why in choice.reasons[0]


def test_a_third_profile_is_compared_with_the_set_chosen_so_far() -> None:
    seen = []

    def gain_of(old: Contender, new: Contender) -> Gain:
        seen.append((old.name, new.name))
        return Gain(0.0, -1.0, 1.0)

    sets = {count: contender(str(count), count) for count in (1, 2, 3)}
    choose(sets, [], gain_of)
    assert seen == [("1", "2"), ("1", "3")]


def test_counts_are_those_that_serve_all_and_keep_every_limit() -> None:
    sets = [ComposedSet((0,), 1.0, 0.2), ComposedSet((0, 1), 0.9), ComposedSet((0, 1, 2), 0.8)]
    assert allowed_counts(sets, 2, exactly=None) == [2]
    assert allowed_counts(sets, 2, exactly=3) == [3]


def test_limits_that_nothing_keeps_name_the_nearest_set() -> None:
    with pytest.raises(NothingFeasible, match=r"the nearest one, of 1 profiles, is 20\.0% over"):
        allowed_counts([ComposedSet((0,), 1.0, 0.2)], 3, exactly=None)


HISTOGRAM = SizeHistogram(("n",), np.arange(1, 41)[:, None], np.full(40, 25))
JUDGE = Judge(HISTOGRAM, HISTOGRAM.counts.astype(float))


def served(latency: np.ndarray, opt: int = 1) -> Served:
    return Served(latency, (Size.of(n=opt),), np.zeros(len(latency), dtype=np.int64))


def test_a_gain_has_an_interval_that_holds_it() -> None:
    gain = gain_between(served(np.full(40, 2.0)), served(np.full(40, 1.0), 2), JUDGE)
    assert gain.value == pytest.approx(0.5)
    assert gain.low < 0.5 < gain.high


def test_blocks_that_differ_widen_the_interval() -> None:
    latency = np.linspace(1, 5, 40)
    alike = np.tile(HISTOGRAM.counts / 10, (10, 1))
    apart = np.zeros((10, 40))
    for block in range(10):
        apart[block, block * 4 : block * 4 + 4] = 25
    narrow = interval_of(served(latency), JUDGE, 0, alike)
    wide = interval_of(served(latency), JUDGE, 0, apart)
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_what_two_sets_share_is_no_noise_between_them() -> None:
    latency = np.linspace(1, 5, 40)
    gain = gain_between(served(latency), served(latency * 0.99), JUDGE)
    assert gain.low > 0  # the same profile in both: a rebuild changes both alike


@given(histograms(min_size=2), st.integers(1, 3), st.integers(0, 99))
def test_final_ranges_cover_all_traffic_and_hold_what_is_routed_to_each(
    histogram: SizeHistogram, count: int, seed: int
) -> None:
    whole = (histogram.smallest, histogram.largest)
    opts = [histogram.size(row % len(histogram)) for row in range(count)]
    profiles = [OptimizationProfile(whole[0], opt, whole[1]) for opt in opts]
    served_by = np.random.default_rng(seed).integers(0, count, len(histogram))
    final = final_ranges(profiles, histogram.sizes, served_by, whole)
    assert final.covers_rows(histogram.sizes).all()
    assert final.covers(whole[1])
    for row, index in enumerate(served_by):
        assert final.profiles[index].covers(histogram.size(row))
