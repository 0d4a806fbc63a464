"""Tests of the rules: profiles without measuring, for any traffic valid and made of what occurred."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import histograms
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.profiles.rules import RULE_NAMES, profiles_by_rule, split_by_rule
from tuner.traffic.histogram import SizeHistogram

OCCURRING = ("median", "mode", "p90")


def one_axis(counts: dict[int, int]) -> SizeHistogram:
    return SizeHistogram.of({Size.of(n=value): count for value, count in counts.items()})


@given(histograms(min_size=1), st.sampled_from(RULE_NAMES))
def test_every_rule_covers_all_traffic_with_valid_profiles(histogram: SizeHistogram, name: str) -> None:
    profiles = profiles_by_rule(name, histogram, 3)
    assert profiles.covers_rows(histogram.sizes).all()


@given(histograms(min_size=1), st.sampled_from(OCCURRING))
def test_an_opt_by_percentile_or_mode_really_occurred(histogram: SizeHistogram, name: str) -> None:
    opt = profiles_by_rule(name, histogram, 1).profiles[0].opt
    assert list(opt.values) in histogram.sizes.tolist()


def test_rules_take_max_median_mode_p90_and_midpoint() -> None:
    histogram = one_axis({1: 40, 10: 30, 20: 25, 100: 5})
    opts = {n: profiles_by_rule(n, histogram, 1).profiles[0].opt["n"] for n in RULE_NAMES if n != "static"}
    assert opts == {"max": 100, "median": 10, "mode": 1, "p90": 20, "midpoint": 50}


def test_static_has_the_most_frequent_sizes_and_the_whole_range() -> None:
    profiles = profiles_by_rule("static", one_axis({1: 40, 10: 30, 20: 25, 100: 5}), 2).profiles
    assert [(p.min["n"], p.opt["n"], p.max["n"]) for p in profiles] == [
        (1, 1, 1),
        (10, 10, 10),
        (1, 100, 100),
    ]


def test_an_opt_that_no_request_has_moves_to_one_that_occurred() -> None:
    axes = ("seq", "past_len", "total")
    rows = np.array([[1, 128, 129], [50, 8, 58], [100, 200, 300]])
    opt = profiles_by_rule("median", SizeHistogram(axes, rows, np.array([1, 1, 1])), 1).profiles[0].opt
    assert list(opt.values) in rows.tolist()


def test_midpoint_keeps_what_the_axes_sum_to() -> None:
    axes = ("seq", "past_len", "total")
    rows = np.array([[1, 128, 129], [50, 8, 58], [100, 200, 300]])
    found = profiles_by_rule("midpoint", SizeHistogram(axes, rows, np.array([1, 1, 1])), 1).profiles[0]
    assert found.opt["total"] == found.opt["seq"] + found.opt["past_len"]
    assert (found.min["total"], found.max["total"]) == (9, 300)


def test_two_kinds_of_traffic_are_split_at_their_widest_gap() -> None:
    profiles = split_by_rule("median", one_axis({1: 70, 1900: 10, 2048: 20}), 2).profiles
    assert [(p.min["n"], p.max["n"]) for p in profiles] == [(1, 1), (1900, 2048)]


def test_more_parts_than_sizes_cannot_be_split() -> None:
    with pytest.raises(TunerError, match="2 distinct sizes, too few for 3 profiles"):
        split_by_rule("median", one_axis({1: 1, 2: 1}), 3)


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(TunerError, match="there is no rule 'p9'; did you mean 'p90'"):
        profiles_by_rule("p9", one_axis({1: 1}), 1)
