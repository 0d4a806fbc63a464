"""Closed forms of queueing theory, and what a replay does with traffic that is odd or too much."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.made_queues import at_times, charging, lives, poisson, service_of
from tuner.errors import TunerError
from tuner.replay.batcher import FIFO, Batcher, triton_default
from tuner.replay.concurrency import Concurrency, independent
from tuner.replay.queueing import Server, Service, replay
from tuner.replay.response import ResponseLimit
from tuner.replay.running import Running
from tuner.traffic.arrivals import ArrivalPart, arrivals_of

ONE = Server(batcher=FIFO)


def erlang_c(servers, offered):
    """Probability that an arrival waits in M/M/c."""
    terms = [offered**k / math.factorial(k) for k in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    return last / (sum(terms) + last)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.85])
def test_waiting_in_m_d_1_is_that_of_pollaczek_and_khinchine(load):
    arrivals = poisson(400_000, 1000 * load, seed=3)
    found = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 1.0), ONE)
    assert found.mean_waiting_ms == pytest.approx(load / (2 * (1 - load)), rel=0.05)
    assert found.busy_share == pytest.approx(load, rel=0.01)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.6), (2, 0.7), (4, 0.8)])
def test_waiting_in_m_m_c_is_that_of_erlang(servers, load):
    # Exponential service times: every request has a shape of its own time, drawn once from a fine grid.
    rng = np.random.default_rng(11)
    count, mean_ms = 400_000, 1.0
    quantiles = -np.log1p(-(np.arange(64) + 0.5) / 64) * mean_ms
    times = np.cumsum(rng.exponential(mean_ms / (servers * load) / 1000, count))
    arrivals = at_times(times, seqs=rng.integers(1, 65, count))
    service = service_of(arrivals, 1, lambda seq, batch: quantiles[seq - 1])
    server = Server(batcher=FIFO, contexts=servers, concurrency=independent(servers))
    found = replay(arrivals, service, server)
    # The grid's own moments: Erlang's formula times (1 + c^2) / 2, exact for one server and close for more.
    spread = (1 + quantiles.var() / quantiles.mean() ** 2) / 2
    offered = servers * load * quantiles.mean() / mean_ms
    expected = erlang_c(servers, offered) * quantiles.mean() / (servers - offered) * spread
    assert found.mean_waiting_ms == pytest.approx(expected, rel=0.06)


def test_processor_sharing_serves_one_over_one_minus_load():
    arrivals = poisson(300_000, 600, seed=5)
    server = Server(batcher=FIFO, contexts=64)
    found = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 1.0), server)
    assert found.mean_response_ms == pytest.approx(1 / (1 - 0.6), rel=0.03)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=60), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_waiting_follows_the_recursion_of_lindley(gaps, scale):
    times = np.cumsum(gaps)
    arrivals = at_times(times, seqs=np.arange(len(times)) % 7 + 1)
    service = service_of(arrivals, 1, lambda seq, batch: 100.0 * scale * seq)
    start_s, finish_s = lives(arrivals, service, ONE)
    free, expected = 0.0, []
    for row, arrival in enumerate(arrivals.arrival_s):
        begin = max(arrival, free)
        free = begin + 0.1 * scale * int(arrivals.values("seq")[row])
        expected.append(begin)
    assert start_s == pytest.approx(expected, abs=1e-9)
    assert finish_s[-1] == pytest.approx(free, abs=1e-9)


def test_mean_number_in_the_server_is_rate_times_response_as_little_says():
    arrivals = poisson(200_000, 500, seed=7)
    service = service_of(arrivals, 8, lambda seq, batch: 2.0 + 0.5 * batch)
    batcher = Batcher(max_batch=8, preferred_batch_size=(4,), max_queue_delay_microseconds=3000)
    _, finish_s = lives(arrivals, service, Server(batcher=batcher, contexts=2))
    found = replay(arrivals, service, Server(batcher=batcher, contexts=2))
    times = np.concatenate([arrivals.arrival_s, finish_s])
    steps = np.concatenate([np.ones(len(arrivals)), -np.ones(len(arrivals))])
    order = np.argsort(times, kind="stable")
    inside = np.cumsum(steps[order])[:-1] @ np.diff(times[order]) / found.span_s
    assert inside == pytest.approx(found.throughput_rps * found.mean_response_ms / 1000, rel=1e-6)


def test_an_idle_server_answers_in_its_service_time():
    arrivals = at_times([0, 10, 20, 30], seqs=[1, 2, 3, 4])
    found = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 5.0 * seq), ONE)
    assert found.response_ms[50.0] == pytest.approx(10.0)
    assert found.response_ms[99.9] == pytest.approx(20.0)
    assert found.mean_waiting_ms == 0.0


def test_contexts_that_were_not_measured_never_carry_more():
    arrivals = poisson(50_000, 1200, seed=2)
    service = service_of(arrivals, 1, lambda seq, batch: 1.0)
    for contexts in (1, 2, 5):
        found = replay(arrivals, service, Server(batcher=FIFO, contexts=contexts))
        assert found.is_overloaded
        assert found.throughput_rps == pytest.approx(1000, rel=1e-3)


def test_measured_concurrency_carries_what_was_measured():
    arrivals = poisson(50_000, 2000, seed=2)
    service = service_of(arrivals, 1, lambda seq, batch: 1.0)
    measured = Concurrency((1.0, 1.3), is_measured=True)
    found = replay(arrivals, service, Server(batcher=FIFO, contexts=2, concurrency=measured))
    assert found.throughput_rps == pytest.approx(1300, rel=1e-3)


def test_load_beyond_capacity_gives_no_percentile():
    arrivals = poisson(5_000, 1000)
    service = service_of(arrivals, 1, lambda seq, batch: 0.8)
    assert replay(arrivals, service, ONE).response_ms
    beyond = replay(arrivals, service, ONE, load=1.5)
    assert beyond.is_overloaded
    assert beyond.response_ms == {}
    assert beyond.queue_lengths[-1] > beyond.queue_lengths[30] > 100


def test_request_over_the_limit_does_not_count_as_goodput():
    arrivals = at_times([0.0, 0.001, 1.0, 2.0])
    service = service_of(arrivals, 1, lambda seq, batch: 10.0)
    found = replay(arrivals, service, ONE, ResponseLimit(99, 15.0))
    assert found.goodput_rps == pytest.approx(3 / found.span_s)
    assert found.throughput_rps == pytest.approx(4 / found.span_s)


def test_a_clock_reset_replays_each_side_with_an_empty_queue():
    times = np.array([0.0, 1.0, 5000.0, 5000.001, 10.0, 11.0])
    sizes = np.ones((6, 2), np.int64)
    arrivals = arrivals_of(("batch", "seq"), [ArrivalPart("a.jsonl", times, sizes)])
    found = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 2000.0), ONE)
    assert found.response_ms[99.9] == pytest.approx(3999.0)  # not 5000 s: the reset is not waited through
    assert found.span_s == pytest.approx(5000 + 4 + 4)


def test_a_gap_of_hours_empties_the_queue_and_lowers_the_busy_share():
    arrivals = at_times([0.0, 0.0, 7200.0])
    found = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 1000.0), ONE)
    assert found.response_ms[99.9] == pytest.approx(2000.0)
    assert found.busy_share == pytest.approx(3 / 7201)


@pytest.mark.parametrize("unserved", [np.nan, np.inf])
def test_a_size_that_no_profile_serves_is_named(unserved):
    arrivals = at_times([0.0, 0.0, 0.0], seqs=[8, 8, 8])
    service = service_of(arrivals, 2, lambda seq, batch: unserved if batch == 2 else 1.0)
    with pytest.raises(TunerError, match="would execute batch=2,seq=8, which no profile serves"):
        replay(arrivals, service, Server(batcher=triton_default(2)))


def test_a_request_beyond_the_maximum_batch_is_refused():
    arrivals = at_times([0.0], batches=[5])
    service = service_of(arrivals, 4, lambda seq, batch: 1.0)
    with pytest.raises(TunerError, match="batch 5, but the batcher executes 4 at most"):
        replay(arrivals, service, Server(batcher=triton_default(4)))


@pytest.mark.parametrize("load", [0.0, -1.0, math.nan])
def test_load_has_to_be_above_zero(load):
    arrivals = at_times([0.0])
    with pytest.raises(TunerError, match="a factor above zero"):
        replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 1.0), ONE, load=load)


def test_lanes_share_one_gpu():
    arrivals = at_times([0.0, 0.0], seqs=[1, 2])
    one = service_of(arrivals, 1, lambda seq, batch: 10.0)
    service = Service(one.sizes, np.repeat(one.latency_ms, 2, axis=0), np.array([0, 1]))
    found = replay(arrivals, service, ONE)
    assert found.response_ms[50.0] == pytest.approx(20.0)  # both run at once, each at half the speed


@given(
    st.integers(1, 5),
    st.sampled_from([(), (4,), (2, 6)]),
    st.sampled_from([0, 1500]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_stream_in_pieces_gives_what_the_whole_gives(pieces, preferred, delay, alike, charged):
    arrivals = poisson(400, 900, seed=pieces)
    if not alike:
        arrivals = at_times(arrivals.arrival_s, seqs=np.arange(400) % 3 + 1)
    batcher = Batcher(max_batch=8, preferred_batch_size=preferred, max_queue_delay_microseconds=delay)
    server = Server(batcher=batcher, contexts=2)
    service = service_of(arrivals, 8, lambda seq, batch: 2.0 + 0.3 * batch)
    if charged:
        service = charging(service, 0.3, 0.7, lambda seq, batch: int(batch > 2))
    whole = lives(arrivals, service, server)
    running = Running(arrivals, service, server)
    taken = []
    for rows in np.array_split(np.arange(400), pieces):
        running.load(arrivals.arrival_s[rows], arrivals.size_rows[rows])
        running.advance(arrivals.arrival_s[rows[-1]])
        taken.append(running.take_finished())
    running.advance(np.inf)
    taken.append(running.take_finished())
    assert np.array_equal(np.concatenate([t.start_s for t in taken]), whole[0])
    assert np.array_equal(np.concatenate([t.finish_s for t in taken]), whole[1])


@given(
    st.lists(st.floats(0, 0.02), min_size=1, max_size=80),
    st.integers(1, 8),
    st.sampled_from([0, 500, 5000]),
    st.sampled_from(["separate", "pad", "ragged"]),
    st.integers(1, 3),
)
@settings(max_examples=80, deadline=None)
def test_every_request_is_served_once_in_order_and_no_batch_is_too_large(
    gaps, largest, delay, unlike, contexts
):
    arrivals = at_times(np.cumsum(gaps), seqs=np.arange(len(gaps)) % 3 * 4 + 4)
    batcher = Batcher(max_batch=largest, max_queue_delay_microseconds=delay, unlike_shapes=unlike)
    service = service_of(arrivals, largest, lambda seq, batch: 3.0 + 0.1 * seq * batch)
    server = Server(batcher=batcher, contexts=contexts)
    start_s, finish_s = lives(arrivals, service, server)
    assert (np.diff(start_s) >= 0).all()
    assert (start_s >= arrivals.arrival_s - 1e-9).all()
    assert (finish_s > start_s).all()
    executed = replay(arrivals, service, server).executed
    assert executed.counts @ executed.values("batch") == len(gaps)
    assert executed.values("batch").max() <= largest
