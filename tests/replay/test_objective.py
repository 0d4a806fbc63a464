"""Tests of the objectives: the percentile is numpy's nearest rank, on any number of sets at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.replay.objective import OBJECTIVES, Load, load_of, objective_named, service_percentile
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.percentiles import weighted_percentiles


@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.integers(1, 1000)), min_size=1, max_size=30),
    st.sampled_from([0, 1, 50, 90, 99, 99.9, 100]),
)
def test_service_percentile_equals_numpys_nearest_rank(rows: list[tuple[float, int]], percent: float) -> None:
    latency, weights = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    load = Load(weights, weights, weights)
    expected = np.quantile(latency, percent / 100, method="inverted_cdf", weights=weights)
    assert service_percentile(percent)(latency, load) == expected
    assert weighted_percentiles(latency, weights, [percent]) == [expected]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_many_sets_at_once_score_as_each_alone(name: str) -> None:
    generator = np.random.default_rng(0)
    latency, weights = generator.uniform(0.1, 2, (4, 5, 7)), generator.integers(1, 9, 7).astype(float)
    load = Load(weights, weights, weights)
    together = OBJECTIVES[name](latency, load)
    assert together.shape == (4, 5)
    assert together[2, 3] == pytest.approx(float(OBJECTIVES[name](latency[2, 3], load)))


def test_gpu_time_by_requests_shares_a_batch_among_its_requests() -> None:
    histogram = SizeHistogram(("batch",), np.array([[1], [4]]), np.array([1, 1]))
    load = load_of(histogram, np.array([1.0, 4.0]), "requests")
    assert objective_named("gpu_time")(np.array([1.0, 2.0]), load) == pytest.approx(3.0 / 5.0)


def test_gpu_time_by_work_is_what_a_unit_of_work_experiences() -> None:
    histogram = SizeHistogram(("batch",), np.array([[1], [3]]), np.array([1, 1]))
    load = load_of(histogram, np.array([1.0, 1.0]), "work")
    assert objective_named("gpu_time")(np.array([1.0, 2.0]), load) == pytest.approx((1 + 3 * 2) / 4)


def test_an_unknown_objective_names_the_nearest() -> None:
    with pytest.raises(TunerError, match="no objective 'service_p95'; did you mean 'service_p"):
        objective_named("service_p95")


def test_an_unknown_weight_names_those_there_are() -> None:
    histogram = SizeHistogram(("n",), np.array([[1]]), np.array([1]))
    with pytest.raises(TunerError, match="--weight is 'token'; accepted are requests and work"):
        load_of(histogram, np.array([1.0]), "token")
