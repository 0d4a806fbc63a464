"""Places of values along a chart's axis."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuner.report.ticks import MOST_PLACES, ticks_of

values = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=200)


@given(values)
def test_every_value_lies_in_its_place_and_places_are_few(found: list[int]) -> None:
    ticks = ticks_of(found)
    array = np.array(found, dtype=np.int64)
    places = ticks.places(array)
    assert len(ticks) <= MOST_PLACES
    assert (ticks.lows[places] <= array).all()
    assert (array <= ticks.highs[places]).all()


@given(values)
def test_positions_rise_with_the_values_and_stay_inside(found: list[int]) -> None:
    ticks = ticks_of(found)
    positions = [ticks.position(value) for value in sorted(found)]
    assert positions == sorted(positions)
    assert 0 <= positions[0] <= positions[-1] <= len(ticks) - 1


def test_few_values_have_a_place_each() -> None:
    assert ticks_of([8, 1, 8, 4]).labels == ["1", "4", "8"]


def test_a_range_that_ends_between_values_is_framed_between_their_places() -> None:
    low, high = ticks_of([1, 4, 16]).extent(1, 8)
    assert low == -0.5
    assert 1.5 < high < 2.5
