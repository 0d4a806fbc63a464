"""Curves: exact where measured, interpolated and marked between, nothing outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.profiles.profile import OptimizationProfile

PROFILE = OptimizationProfile(Size.of(batch=1, seq=16), Size.of(batch=4, seq=64), Size.of(batch=8, seq=64))
GRID = np.array([[1, 16], [1, 64], [8, 16], [8, 64]])
CURVE = Curve(PROFILE, GRID, np.array([1.0, 4.0, 8.0, 32.0]))
CURVE.latencies(np.array([[2, 32]]))  # loads scipy, which is not to count as the time of an example


def test_a_measured_size_has_its_measured_latency() -> None:
    latency, interpolated = CURVE.latencies(GRID)
    assert latency.tolist() == [1.0, 4.0, 8.0, 32.0]
    assert not interpolated.any()


def test_a_size_between_follows_the_power_law_of_its_neighbours_and_is_marked() -> None:
    latency, interpolated = CURVE.latencies(np.array([[2, 32]]))
    assert latency == pytest.approx([4.0])
    assert interpolated.tolist() == [True]


@pytest.mark.parametrize("size", [[9, 64], [8, 65], [1, 15], [0, 16]])
def test_a_size_outside_has_no_latency_and_is_not_called_interpolated(size: list[int]) -> None:
    latency, interpolated = CURVE.latencies(np.array([size]))
    assert np.isnan(latency).all()
    assert not interpolated.any()


@given(st.integers(1, 8), st.integers(16, 64))
def test_interpolation_stays_between_the_measured_extremes(batch: int, seq: int) -> None:
    latency, _ = CURVE.latencies(np.array([[batch, seq]]))
    assert 1.0 <= latency[0] <= 32.0 * (1 + 1e-12)


def test_an_axis_with_one_measured_value_has_to_be_met() -> None:
    profile = OptimizationProfile(
        Size.of(batch=1, seq=16), Size.of(batch=1, seq=64), Size.of(batch=8, seq=64)
    )
    flat = Curve(profile, np.array([[1, 16], [1, 64]]), np.array([1.0, 4.0]))
    latency, _ = flat.latencies(np.array([[1, 32], [2, 32]]))
    assert latency[0] == pytest.approx(2.0)
    assert np.isnan(latency[1])


def test_scattered_points_are_interpolated_inside_their_hull_only() -> None:
    curve = Curve(PROFILE, np.array([[1, 16], [1, 64], [8, 16]]), np.array([1.0, 4.0, 8.0]))
    latency, _ = curve.latencies(np.array([[2, 20], [8, 64]]))
    assert 1.0 < latency[0] < 8.0
    assert np.isnan(latency[1])


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_curve_with_an_impossible_time_cannot_be_made(bad: float) -> None:
    with pytest.raises(TunerError, match="not above zero and finite"):
        Curve(PROFILE, GRID[:1], np.array([bad]))
