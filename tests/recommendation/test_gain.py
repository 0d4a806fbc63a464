"""Gains between sets, with the noise of traffic and of builds."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.axes import Size
from tuner.recommendation.gain import Gain, Served, gain_between, interval_of
from tuner.replay.changes import ChangeCosts
from tuner.replay.score import Judge
from tuner.traffic.histogram import SizeHistogram

SIZES = SizeHistogram(("n",), np.array([[1], [2], [4]]), np.array([700, 200, 100]))
JUDGE = Judge(SIZES, SIZES.counts.astype(float))


def served(latency_ms: list[float], opt: int) -> Served:
    return Served(np.array(latency_ms), (Size.of(n=opt),), np.zeros(3, dtype=np.int64))


def gain(old: Served, new: Served, judge: Judge = JUDGE) -> Gain:
    return gain_between(old, new, judge)


def test_the_gain_is_the_share_of_the_old_objective_that_is_saved() -> None:
    assert gain(served([2, 2, 2], 1), served([1, 1, 1], 4)).value == pytest.approx(0.5)


def test_profiles_that_both_sets_share_add_no_build_noise() -> None:
    same = gain(served([2, 3, 4], 1), served([2, 3, 4], 1))
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0))


def test_other_profiles_bring_the_spread_of_their_builds() -> None:
    found = gain(served([2, 3, 4], 1), served([2, 3, 4], 4))
    assert found.low == pytest.approx(-0.055, abs=0.02)
    assert found.high == pytest.approx(0.055, abs=0.02)


def test_little_traffic_widens_the_interval() -> None:
    few = SizeHistogram(SIZES.axes, SIZES.sizes, np.array([7, 2, 1]))
    old, new = served([1, 2, 40], 1), served([1, 2, 30], 1)
    wide, narrow = gain(old, new, Judge(few, few.counts.astype(float))), gain(old, new)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


@pytest.mark.parametrize("objective", ["gpu_time", "service_p50", "service_p90", "service_p99"])
@pytest.mark.parametrize("weight", ["requests", "work"])
def test_every_objective_and_weight_has_its_gain(objective: str, weight: str) -> None:
    judge = Judge(SIZES, SIZES.counts.astype(float), objective, weight)
    found = gain(served([2, 2, 2], 1), served([1, 1, 1], 4), judge)
    assert found.value == pytest.approx(0.5)
    assert found.low < found.value < found.high


def test_the_same_seed_gives_the_same_interval() -> None:
    old, new = served([2, 3, 4], 1), served([2, 3, 3], 4)
    assert gain(old, new) == gain(old, new)
    assert gain_between(old, new, JUDGE, seed=1) != gain(old, new)


def test_a_set_that_changes_its_profile_gains_less_where_that_costs() -> None:
    old = served([2, 2, 2], 1)
    new = Served(np.array([1.0, 1.0, 1.0]), (Size.of(n=1), Size.of(n=4)), np.array([0, 1, 1]))
    dear = JUDGE.charging(ChangeCosts(profile_ms=5.0))
    changes = 1 - 0.7**2 - 0.3**2
    found = gain(old, new, dear)
    assert found.value == pytest.approx(1 - (1 + 5.0 * changes) / 2)
    assert found.low < found.value < found.high
    assert gain(old, new).value == pytest.approx(0.5)


def test_what_changes_cost_does_not_spread_with_builds() -> None:
    judge = JUDGE.charging(ChangeCosts(size_ms=5.0, profile_ms=5.0))
    mixed = np.tile(SIZES.counts / 10, (10, 1))
    low, high = interval_of(served([1, 1, 1], 1), judge, 0, mixed)
    expected = 1 + 5.0 * (1 - 0.7**2 - 0.2**2 - 0.1**2)
    assert low < expected < high
    assert high - low < 0.2  # 2 % of 1 ms and not of all that is charged
