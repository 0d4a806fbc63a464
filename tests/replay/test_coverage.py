"""Tests of sizes that nothing covers: their shares, and what is scored instead."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.axes import Size
from tuner.errors import NothingFeasible, TunerError
from tuner.replay.coverage import coverage_of, covered_histogram
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

HISTOGRAM = SizeHistogram(("n",), np.array([[1], [2], [10]]), np.array([6, 3, 1]))
TRAFFIC = Traffic(histogram=HISTOGRAM, tune=HISTOGRAM)
COVERED = np.array([True, True, False])
BOUNDS = (Size.of(n=1), Size.of(n=2))


def test_uncovered_requests_are_stated_with_their_share_of_requests_and_of_work() -> None:
    coverage = coverage_of(TRAFFIC, COVERED, "exclude")
    assert (coverage.uncovered_requests, coverage.request_share) == (1, 0.1)
    assert coverage.work_share == pytest.approx(10 / 22)


def test_excluded_sizes_are_left_out_of_what_is_scored() -> None:
    assert covered_histogram(HISTOGRAM, COVERED, "exclude", BOUNDS).sizes.tolist() == [[1], [2]]


def test_clipped_sizes_are_scored_at_the_nearest_covered_one() -> None:
    clipped = covered_histogram(HISTOGRAM, COVERED, "clip", BOUNDS)
    assert (clipped.sizes.tolist(), clipped.counts.tolist()) == ([[1], [2]], [6, 4])


def test_nothing_covered_is_a_finding_and_not_a_score() -> None:
    with pytest.raises(NothingFeasible, match="none of the 10 requests is covered"):
        coverage_of(TRAFFIC, np.zeros(3, dtype=bool), "exclude")


def test_an_unknown_action_names_those_there_are() -> None:
    with pytest.raises(TunerError, match="--uncovered is 'drop'; accepted are exclude and clip"):
        covered_histogram(HISTOGRAM, COVERED, "drop", BOUNDS)
