"""Tests of the score of a set on traffic."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.errors import TunerError
from tuner.replay.changes import ChangeCosts
from tuner.replay.score import Judge, LatencyTable
from tuner.replay.slo import Slo
from tuner.traffic.histogram import SizeHistogram

HISTOGRAM = SizeHistogram(("batch", "seq"), np.array([[1, 10], [4, 10]]), np.array([60, 10]))
JUDGE = Judge(HISTOGRAM, np.array([60.0, 40.0]))
TABLE = LatencyTable(np.array([[1.0, 3.0], [2.0, 2.0]]), np.array([[False, True], [False, False]]))


def test_score_adds_up_gpu_time_and_throughput_over_requests() -> None:
    score = JUDGE.score(TABLE, np.array([0, 0]))
    assert score.gpu_time_ms == pytest.approx((60 * 1.0 + 10 * 3.0) / 100)
    assert score.requests_per_gpu_s == pytest.approx(1000 * 100 / 90)
    assert score.work_per_gpu_s == pytest.approx(1000 * (60 * 10 + 10 * 40) / 90)


def test_percentiles_of_a_score_are_over_requests() -> None:
    score = JUDGE.score(TABLE, np.array([0, 0]))
    assert (score.service_p50_ms, score.service_p90_ms) == (1.0, 3.0)


def test_interpolated_share_is_that_of_the_requests_it_serves() -> None:
    assert JUDGE.score(TABLE, np.array([0, 0])).interpolated_share == pytest.approx(0.4)
    assert JUDGE.score(TABLE, np.array([0, 1])).interpolated_share == 0


def test_a_size_that_is_not_served_cannot_be_scored() -> None:
    with pytest.raises(TunerError, match="sizes that it does not serve"):
        JUDGE.score(TABLE, np.array([0, -1]))


def test_overrun_is_the_share_by_which_the_worst_limit_is_broken() -> None:
    judge = Judge(HISTOGRAM, JUDGE.requests, slos=(Slo("service_p99", 2.0), Slo("service_p50", 1.0)))
    assert judge.overruns(np.array([[1.0, 3.0], [1.0, 2.0]])).tolist() == [0.5, 0.0]


def test_limits_on_resources_do_not_count_as_service() -> None:
    judge = Judge(HISTOGRAM, JUDGE.requests, slos=(Slo("device_memory", 1.0),))
    assert judge.overruns(np.array([1.0, 3.0])) == 0


COSTS = ChangeCosts(size_ms=0.7, profile_ms=1.4)


def test_score_includes_what_changes_of_size_cost_by_their_share_of_the_inferences() -> None:
    score = JUDGE.charging(COSTS).score(TABLE, np.array([0, 0]))
    small, large = 1.0 + 0.7 * 10 / 70, 3.0 + 0.7 * 60 / 70
    assert score.gpu_time_ms == pytest.approx((60 * small + 10 * large) / 100)
    assert (score.service_p50_ms, score.service_p99_ms) == pytest.approx((small, large))
    assert score.requests_per_gpu_s == pytest.approx(1000 * 100 / (60 * small + 10 * large))


def test_score_includes_what_changes_of_profile_cost() -> None:
    judge = JUDGE.charging(COSTS)
    score = judge.score(TABLE, np.array([0, 1]))
    small, large = 1.0 + 1.4 * 10 / 70, 2.0 + 1.4 * 60 / 70
    assert score.value == pytest.approx((60 * small + 10 * large) / 100)
    best = judge.best_served_ms(TABLE.latency_ms)
    assert best is not None
    assert judge.value(best) == score.value


def test_routing_goes_by_latency_alone_and_the_first_of_equals() -> None:
    judge = JUDGE.charging(ChangeCosts(size_ms=0.0, profile_ms=7.0))
    same = judge.best_served_ms(np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert same is not None
    assert same.tolist() == [1.0, 2.0]  # one profile serves both, so there is no change
    apart = judge.best_served_ms(np.array([[1.0, 2.0], [1.5, 1.9]]))
    assert apart is not None
    assert apart.tolist() == pytest.approx([1.0 + 1.0, 1.9 + 6.0])


def test_a_set_that_leaves_a_size_unserved_takes_no_time_at_all() -> None:
    assert JUDGE.charging(COSTS).best_served_ms(np.array([[1.0, np.nan]])) is None
    assert JUDGE.served_ms(TABLE.latency_ms, np.array([0, -1])) is None
