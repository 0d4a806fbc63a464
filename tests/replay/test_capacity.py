"""The highest load that meets a limit, with its interval."""

from __future__ import annotations

import pytest

from tests.replay.made_queues import at_times, poisson, service_of
from tuner.errors import TunerError
from tuner.replay.batcher import FIFO, triton_default
from tuner.replay.capacity import capacity
from tuner.replay.queueing import Server, replay
from tuner.replay.response import ResponseLimit

ONE = Server(batcher=FIFO)


def test_capacity_is_the_highest_load_that_meets_the_limit():
    arrivals = poisson(20_000, 100, seed=4)
    service = service_of(arrivals, 1, lambda seq, batch: 1.0)
    limit = ResponseLimit(99, 5.0)
    found = capacity(arrivals, service, ONE, limit)
    assert replay(arrivals, service, ONE, limit, load=found.load).response_ms[99.0] <= 5.0
    assert replay(arrivals, service, ONE, limit, load=found.load * 1.011).response_ms[99.0] > 5.0
    low, high = found.interval_rps
    assert low <= found.rate_rps <= high
    assert low > 100
    assert high < 1000


def test_capacity_of_m_d_1_is_near_the_load_of_its_mean_waiting():
    # P50 of M/D/1 response at load 0.7: between 1 and 2 service times; a generous limit is near saturation.
    arrivals = poisson(50_000, 100, seed=9)
    service = service_of(arrivals, 1, lambda seq, batch: 1.0)
    found = capacity(arrivals, service, ONE, ResponseLimit(50, 40.0))
    assert found.rate_rps == pytest.approx(985, rel=0.03)


def test_batching_carries_more_than_one_request_at_a_time():
    arrivals = poisson(10_000, 100, seed=4)
    alone = service_of(arrivals, 1, lambda seq, batch: 1.0)
    together = service_of(arrivals, 8, lambda seq, batch: 0.9 + 0.1 * batch)
    limit = ResponseLimit(99, 10.0)
    batched = capacity(arrivals, together, Server(batcher=triton_default(8)), limit)
    assert batched.rate_rps > 3 * capacity(arrivals, alone, ONE, limit).rate_rps


def test_a_limit_below_the_service_time_gives_no_capacity():
    arrivals = poisson(1_000, 100)
    service = service_of(arrivals, 1, lambda seq, batch: 5.0)
    assert capacity(arrivals, service, ONE, ResponseLimit(99, 1.0)).rate_rps == 0.0


def test_more_contexts_carry_no_more_unless_measured():
    arrivals = poisson(10_000, 100, seed=4)
    service = service_of(arrivals, 1, lambda seq, batch: 1.0)
    limit = ResponseLimit(50, 30.0)
    rates = [capacity(arrivals, service, Server(batcher=FIFO, contexts=n), limit).rate_rps for n in (1, 2, 4)]
    assert max(rates) <= 1000


def test_requests_at_one_time_have_no_rate_to_scale():
    arrivals = at_times([0.0, 0.0])
    with pytest.raises(TunerError, match="all requests of the log come at one time"):
        capacity(arrivals, service_of(arrivals, 1, lambda s, b: 1.0), ONE, ResponseLimit(99, 5.0))
