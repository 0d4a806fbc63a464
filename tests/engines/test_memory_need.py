"""Tests of what is refused before any build."""

from __future__ import annotations

import pytest

from tuner.axes import Size
from tuner.engines.memory_need import refuse_impossible, tensor_bytes
from tuner.errors import BuildFailed
from tuner.formula import axis_dimension
from tuner.model import Model, OutputSpec, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet

AXES = ("n", "h", "w")
IMAGE = TensorSpec("x", "float32", (axis_dimension("n"), 3, axis_dimension("h"), axis_dimension("w")))
MODEL = Model(
    "images", (IMAGE,), (OutputSpec("y", "float32", ("n", "h*w//4")), OutputSpec("z", "int64", ("?",)))
)


def up_to(n: int, side: int) -> OptimizationProfile:
    low, high = Size(AXES, (1, 224, 224)), Size(AXES, (n, side, side))
    return OptimizationProfile(low, low, high)


def test_giant_maximum_is_refused_with_its_arithmetic() -> None:
    profiles = ProfileSet((up_to(64, 65536),))
    with pytest.raises(
        BuildFailed, match=r"x 3298534883328 \+ y \d+ = \d+ bytes \(\d+ GiB\).*140 GiB.*--cap"
    ) as caught:
        refuse_impossible(MODEL, profiles, 140 << 30)
    assert caught.value.kind == "gpu_memory"


def test_maximum_that_fits_passes() -> None:
    refuse_impossible(MODEL, ProfileSet((up_to(64, 224),)), 140 << 30)


def test_nothing_is_refused_where_the_memory_is_not_known() -> None:
    refuse_impossible(MODEL, ProfileSet((up_to(64, 65536),)), None)


def test_outputs_count_where_their_shape_follows_from_the_axes() -> None:
    assert tensor_bytes(MODEL, up_to(2, 224).max) == {"x": 2 * 3 * 224 * 224 * 4, "y": 2 * 224 * 224 // 4 * 4}
