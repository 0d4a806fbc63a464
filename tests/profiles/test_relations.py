"""Tests of relations between axes: what the traffic proves, and what an opt then has to keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from tests.strategies import histograms
from tuner.axes import Size
from tuner.profiles.relations import Relation, corners, kept, relations_of
from tuner.traffic.histogram import SizeHistogram

AXES = ("seq", "past_len", "total")
# A mask over past and new tokens with an axis of its own.
SUMS = SizeHistogram(AXES, np.array([[1, 128, 129], [50, 8, 58], [100, 200, 300]]), np.array([1, 1, 1]))


def test_a_sum_of_axes_is_found() -> None:
    assert relations_of(SUMS) == (Relation("total", ("seq", "past_len"), 1),)
    assert str(relations_of(SUMS)[0]) == "total = seq + past_len"


def test_a_multiple_of_an_axis_is_found() -> None:
    doubled = SizeHistogram(("a", "b"), np.array([[1, 2], [3, 6], [5, 10]]), np.array([1, 1, 1]))
    assert relations_of(doubled) == (Relation("b", ("a",), 2),)


def test_axes_that_vary_freely_have_no_relation() -> None:
    free = SizeHistogram(("a", "b"), np.array([[1, 2], [3, 6], [5, 9]]), np.array([1, 1, 1]))
    assert relations_of(free) == ()


def test_two_sizes_prove_nothing() -> None:
    two = SizeHistogram(("a", "b"), np.array([[1, 2], [3, 6]]), np.array([1, 1]))
    assert relations_of(two) == ()


def test_an_opt_put_together_axis_by_axis_is_made_to_keep_the_sum() -> None:
    taken_alone = Size(AXES, (50, 128, 129))
    assert kept(taken_alone, relations_of(SUMS)) == Size(AXES, (50, 128, 178))


def test_corners_reach_as_far_as_the_parts_together() -> None:
    low, high = corners(SUMS)
    assert (low["total"], high["total"]) == (9, 300)


@given(histograms(min_size=1))
def test_every_size_of_the_traffic_keeps_the_relations_found_in_it(histogram: SizeHistogram) -> None:
    relations = relations_of(histogram)
    for row in range(len(histogram)):
        assert kept(histogram.size(row), relations) == histogram.size(row)


@given(histograms(min_size=1))
def test_corners_contain_the_traffic(histogram: SizeHistogram) -> None:
    low, high = corners(histogram)
    assert (histogram.sizes >= low.values).all()
    assert (histogram.sizes <= high.values).all()
