"""The size histogram and its weighted percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import AXES, histograms
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.traffic.histogram import SizeHistogram

percents = st.floats(0, 100)


@given(histograms(), percents)
def test_percentiles_are_numpys_nearest_rank(histogram: SizeHistogram, percent: float) -> None:
    expected = np.quantile(
        histogram.values("seq"), percent / 100, method="inverted_cdf", weights=histogram.counts
    )

    assert histogram.percentiles("seq", [percent]) == [expected]


@given(histograms(), percents, percents)
def test_percentiles_rise_with_p(histogram: SizeHistogram, first: float, second: float) -> None:
    low, high = histogram.percentiles("seq", sorted([first, second]))

    assert low <= high


@given(st.lists(histograms(), min_size=1, max_size=4))
def test_weights_add_up_when_histograms_merge(parts: list[SizeHistogram]) -> None:
    merged = SizeHistogram.merged(parts)

    assert merged.request_count == sum(part.request_count for part in parts)
    assert SizeHistogram.merged(reversed(parts)) == merged


@given(histograms())
def test_a_frame_gives_the_histogram_back(histogram: SizeHistogram) -> None:
    assert SizeHistogram.from_frame(histogram.to_frame()) == histogram


def test_counts_weigh_like_repeated_rows() -> None:
    counted = SizeHistogram.of({Size.of(seq=10): 1, Size.of(seq=20): 98, Size.of(seq=1000): 1})

    assert counted.percentiles("seq", [0, 50, 99, 100]) == [10, 20, 20, 1000]


def test_sizes_without_axes_are_one_size() -> None:
    histogram = SizeHistogram((), np.zeros((3, 0)), np.array([1, 2, 3]))

    assert (len(histogram), histogram.request_count, histogram.work.tolist()) == (1, 6, [1.0])


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(TunerError, match="negative count, -1"):
        SizeHistogram(AXES, np.array([[1, 2]]), np.array([-1]))
