"""How far traffic has moved, with an interval that noise does not leave."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.shift import Cells, cells_of, coarse, shift_between
from tuner.traffic.traffic import TimeBuckets, Traffic

SIZES = np.array([[1, 16], [4, 64], [64, 512]])


def traffic(*counts: int, buckets: TimeBuckets | None = None) -> Traffic:
    histogram = SizeHistogram(("batch", "seq"), SIZES, np.array(counts))
    return Traffic(histogram=histogram, tune=histogram, buckets=buckets)


def cells(*counts: int) -> Cells:
    found = traffic(*counts)
    return cells_of(found.histogram, found.requests(found.histogram))


def test_equal_traffic_has_not_moved() -> None:
    shift = shift_between(cells(700, 200, 100), traffic(700, 200, 100), "requests")
    assert (shift.value, shift.low) == (0.0, 0.0)
    assert 0 < shift.high < 0.1


def test_a_tenth_that_moved_is_a_tenth() -> None:
    shift = shift_between(cells(70_000, 20_000, 10_000), traffic(60_000, 20_000, 20_000), "requests")
    assert shift.value == pytest.approx(0.1)
    assert 0.09 < shift.low < shift.high < 0.11


def test_by_work_a_few_large_requests_weigh_more() -> None:
    then, now = cells(100_000, 0, 100), traffic(100_000, 0, 200)
    assert shift_between(then, now, "work").value > 10 * shift_between(then, now, "requests").value


@pytest.mark.parametrize("seed", range(5))
def test_two_draws_of_the_same_traffic_are_no_shift(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = (random.multinomial(5000, (0.7, 0.2, 0.1)) for _ in range(2))
    assert shift_between(cells(*one), traffic(*other), "requests").low == 0.0


def test_bursts_widen_the_interval() -> None:
    hours = np.arange(24) * 3_600_000_000
    # The large size comes in two hours of the day alone.
    counts = np.array([[30, 8, 50 if hour in (3, 15) else 1] for hour in range(24)])
    buckets = TimeBuckets(np.repeat(hours, 3), np.tile(np.arange(3), 24), counts.reshape(-1))
    total = counts.sum(axis=0)
    steady = shift_between(cells(*total), traffic(*total), "requests")
    bursty = shift_between(cells(*total), traffic(*total, buckets=buckets), "requests")
    assert bursty.high > 1.5 * steady.high


def test_a_size_that_never_occurred_before_counts_whole() -> None:
    assert shift_between(cells(100, 0, 0), traffic(0, 0, 100), "requests").value == 1.0


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20))
def test_a_coarse_size_is_the_next_power_of_two(values: list[int]) -> None:
    rounded = coarse(np.array(values).reshape(-1, 1)).reshape(-1)
    for value, up in zip(values, rounded.tolist(), strict=True):
        assert up == (0 if value == 0 else 1 << max(0, value - 1).bit_length())


@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3).filter(any))
def test_cells_come_back_from_their_rows(counts: list[int]) -> None:
    found = cells(*counts)
    back = Cells.from_rows(found.axes, found.rows())
    for field in dataclasses.fields(Cells):
        assert np.array_equal(getattr(back, field.name), getattr(found, field.name))
