"""Profiles: min <= opt <= max, ranges of tensors, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.strategies import AXES, profile_sets, profiles, sizes
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.formula import axis_dimension, parse_formula
from tuner.model import Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet


def one_axis(low: int, opt: int, high: int) -> OptimizationProfile:
    return OptimizationProfile(Size.of(seq=low), Size.of(seq=opt), Size.of(seq=high))


@pytest.mark.parametrize("bounds", [(2, 1, 3), (1, 4, 3), (3, 3, 2)])
def test_a_profile_that_breaks_the_order_cannot_be_made(bounds: tuple[int, int, int]) -> None:
    with pytest.raises(
        TunerError, match=f"min <= opt <= max on axis seq: {bounds[0]}, {bounds[1]}, {bounds[2]}"
    ):
        one_axis(*bounds)


def test_a_profile_of_mixed_axes_cannot_be_made() -> None:
    with pytest.raises(TunerError, match="mixes the axes"):
        OptimizationProfile(Size.of(seq=1), Size.of(batch=1), Size.of(seq=1))


@given(profiles(), sizes())
def test_rows_are_covered_as_single_sizes_are(profile: OptimizationProfile, size: Size) -> None:
    assert bool(profile.covers_rows(np.array([size.values]))[0]) == profile.covers(size)


@given(profiles(), profiles(), sizes())
def test_widening_a_profile_never_uncovers_a_size(
    profile: OptimizationProfile, other: OptimizationProfile, size: Size
) -> None:
    low = Size(AXES, tuple(map(min, profile.min.values, other.min.values)))
    high = Size(AXES, tuple(map(max, profile.max.values, other.max.values)))
    wide = OptimizationProfile(low, profile.opt, high)
    assert wide.contains(profile)
    assert not profile.covers(size) or wide.covers(size)


@given(profile_sets(), sizes())
def test_a_set_covers_what_some_profile_covers(found: ProfileSet, size: Size) -> None:
    assert found.covers(size) == any(profile.covers(size) for profile in found)
    assert bool(found.covers_rows(np.array([size.values]))[0]) == found.covers(size)


def test_an_empty_set_cannot_be_made() -> None:
    with pytest.raises(TunerError, match="at least one profile"):
        ProfileSet(())


def test_a_formula_that_falls_in_an_axis_swaps_min_and_max() -> None:
    rest = TensorSpec("rest", "float32", (1, parse_formula("512 - seq")))
    model = Model("m", (TensorSpec("x", "float32", (1, axis_dimension("seq"))), rest))
    ranges = one_axis(10, 100, 500).tensor_ranges(model)
    assert (ranges["rest"].min, ranges["rest"].opt, ranges["rest"].max) == ((1, 12), (1, 412), (1, 502))


def test_static_inputs_are_in_no_profile() -> None:
    model = Model(
        "m",
        (TensorSpec("x", "float32", (axis_dimension("seq"),)), TensorSpec("scale", "float32", ())),
    )
    assert set(one_axis(1, 2, 3).tensor_ranges(model)) == {"x"}


def test_a_shape_tensor_keeps_its_shape_and_gets_values() -> None:
    target = TensorSpec("target", "int64", (1,), (axis_dimension("seq"),))
    model = Model("m", (target,))
    found = one_axis(4, 8, 16).tensor_ranges(model)["target"]
    assert (found.min, found.opt, found.max) == ((1,), (1,), (1,))
    assert found.values == {"min": (4,), "opt": (8,), "max": (16,)}
