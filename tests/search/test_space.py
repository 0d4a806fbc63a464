"""Tests of the space: opts that occur or are feasible, within bounds, growing where it pays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.search.problems import ENCODER, recorded
from tests.strategies import histograms
from tuner.axes import Size
from tuner.errors import NothingFeasible
from tuner.formula import parse_formula
from tuner.model import Model, TensorSpec
from tuner.profiles.relations import relations_of
from tuner.search.space import OPT_LIMIT, space_of_candidates, space_of_traffic
from tuner.traffic.histogram import SizeHistogram


def space_of(histogram: SizeHistogram, **given: object):
    return space_of_traffic(histogram, (histogram.smallest, histogram.largest), **given)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(histograms(min_size=1))
def test_every_opt_gives_a_valid_profile_that_covers_the_traffic(histogram: SizeHistogram) -> None:
    space = space_of(histogram)
    assert 1 <= len(space.opts) <= OPT_LIMIT
    for opt in space.opts:
        assert space.profile(opt).covers_rows(histogram.sizes).all()


@pytest.mark.parametrize("axis_count", [1, 2, 3, 4])
def test_any_number_of_axes_gives_a_space_of_bounded_size(axis_count: int) -> None:
    axes = ("a", "b", "c", "d")[:axis_count]
    sizes = np.random.default_rng(0).integers(1, 1000, (500, axis_count))
    space = space_of(SizeHistogram(axes, sizes, np.ones(500, np.int64)))
    assert 8 <= len(space.opts) <= OPT_LIMIT


def test_opts_keep_the_relations_between_axes() -> None:
    generator = np.random.default_rng(0)
    parts = generator.integers(1, 300, (200, 2))
    sizes = np.column_stack([parts, parts.sum(axis=1)])
    space = space_of(SizeHistogram(("seq", "past_len", "total"), sizes, np.ones(200, np.int64)))
    assert relations_of(SizeHistogram(("seq", "past_len", "total"), sizes, np.ones(200, np.int64)))
    assert all(opt["seq"] + opt["past_len"] == opt["total"] for opt in space.opts)


def test_an_opt_that_the_model_cannot_have_is_left_out() -> None:
    limited = Model("m", (TensorSpec("x", "float32", (parse_formula("120 - n"),)),))
    histogram = SizeHistogram(("n",), np.array([[1], [100]]), np.array([1, 1]))
    free, space = space_of(histogram), space_of(histogram, model=limited)
    for _ in range(3):
        free, space = free.grown(free.opts), space.grown(space.opts)
    assert max(opt["n"] for opt in free.opts) > 120
    assert max(opt["n"] for opt in space.opts) <= 120


def test_an_axis_of_zero_never_gives_an_opt_of_zero() -> None:
    histogram = SizeHistogram(("past_len",), np.array([[0], [16], [128]]), np.array([1, 1, 1]))
    space = space_of(histogram)
    assert min(opt["past_len"] for opt in space.opts) == 1
    assert space.profile(space.opts[0]).min["past_len"] == 0


def test_an_open_space_is_refined_around_good_opts_and_widened_past_its_edge() -> None:
    space = space_of(SizeHistogram(("n",), np.array([[64], [1024]]), np.array([1, 1])))
    edge = max(space.opts, key=lambda opt: opt.work)
    assert space.edges(edge) == ("n",)
    grown = space.grown([edge])
    added = set(grown.opts) - set(space.opts)
    assert min(opt["n"] for opt in added) < edge["n"] < max(opt["n"] for opt in added)
    assert all(grown.bounds[0]["n"] <= opt["n"] <= grown.bounds[1]["n"] for opt in grown.opts)


def test_a_cap_bounds_how_far_the_space_may_be_widened() -> None:
    histogram = SizeHistogram(("n",), np.array([[64], [1024]]), np.array([1, 1]))
    space = space_of(histogram, cap={"n": 1024})
    for _ in range(5):
        space = space.grown(space.opts)
    assert max(opt["n"] for opt in space.opts) <= 1024


def test_recorded_candidates_make_a_closed_space() -> None:
    candidates = recorded(ENCODER).candidates()
    space = space_of_candidates(candidates, Size.of(batch=1, seq=16), Size.of(batch=64, seq=512))
    assert len(space.opts) == 16
    assert space.grown(space.opts) is space


def test_a_range_that_no_candidate_covers_is_a_finding() -> None:
    candidates = recorded(ENCODER).candidates()
    with pytest.raises(NothingFeasible, match="no measured profile covers the range"):
        space_of_candidates(candidates, Size.of(batch=1, seq=16), Size.of(batch=128, seq=512))
