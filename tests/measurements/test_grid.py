"""Tests of the sizes that are timed and of how far interpolation between them is off."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.axes import Size
from tuner.measurements.curve import Curve
from tuner.measurements.grid import LIMIT, choose_grid, interpolation_error, refined
from tuner.profiles.profile import OptimizationProfile
from tuner.traffic.histogram import SizeHistogram

AXES = ("batch", "seq")


def whole(high: tuple[int, int] = (64, 512)) -> OptimizationProfile:
    return OptimizationProfile(Size(AXES, (1, 1)), Size(AXES, (4, 100)), Size(AXES, high))


def busy_traffic() -> SizeHistogram:
    random = np.random.default_rng(0)
    sizes = np.stack([2 ** random.integers(0, 7, 4000), random.integers(1, 513, 4000)], axis=1)
    return SizeHistogram(AXES, sizes, np.ones(len(sizes), np.int64))


def time_of(sizes: np.ndarray) -> np.ndarray:
    return 0.3 + 2e-4 * sizes[:, 0] * sizes[:, 1]


def test_few_sizes_are_all_timed() -> None:
    traffic = SizeHistogram(AXES, np.array([[1, 7], [3, 20]]), np.array([5, 5]))
    grid = choose_grid(traffic, whole())
    assert {(1, 7), (3, 20)} <= {tuple(row) for row in grid.sizes.tolist()}
    assert not grid.is_check.any()


def test_corners_and_opt_are_always_timed() -> None:
    rows = {tuple(row) for row in choose_grid(busy_traffic(), whole()).sizes.tolist()}
    assert {(1, 1), (1, 512), (64, 1), (64, 512), (4, 100)} <= rows


def test_many_sizes_stay_under_the_limit_with_check_points_apart() -> None:
    grid = choose_grid(busy_traffic(), whole())
    assert len(grid.sizes) <= LIMIT + 5
    assert 0 < grid.is_check.sum() < len(grid.sizes) / 4
    assert len({tuple(row) for row in grid.sizes.tolist()}) == len(grid.sizes)


def test_sizes_outside_the_profile_are_not_timed() -> None:
    profile = whole((8, 128))
    grid = choose_grid(busy_traffic(), profile)
    assert profile.covers_rows(grid.sizes).all()


def test_check_points_measure_the_error_as_if_they_had_not_been_timed() -> None:
    grid = choose_grid(busy_traffic(), whole())
    curve = Curve(whole(), grid.sizes, time_of(grid.sizes))
    error = interpolation_error(curve, grid, busy_traffic())
    assert error is not None
    assert 0 < error < 0.1
    wrong = Curve(whole(), grid.sizes, np.where(grid.is_check, 2.0, 1.0) * time_of(grid.sizes))
    assert interpolation_error(wrong, grid, busy_traffic()) == pytest.approx(0.5, abs=0.1)


def test_grid_without_check_points_has_no_error_to_tell() -> None:
    traffic = SizeHistogram(AXES, np.array([[1, 7]]), np.array([5]))
    grid = choose_grid(traffic, whole())
    assert interpolation_error(Curve(whole(), grid.sizes, time_of(grid.sizes)), grid, traffic) is None


def test_refined_grid_adds_sizes_and_new_check_points() -> None:
    grid = choose_grid(busy_traffic(), whole())
    finer = refined(grid, busy_traffic(), whole(), 10)
    old = {tuple(row) for row in grid.sizes.tolist()}
    assert old < {tuple(row) for row in finer.sizes.tolist()}
    assert not old & {tuple(row) for row in finer.sizes[finer.is_check].tolist()}
