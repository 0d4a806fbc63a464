"""What a change of size and of profile adds to an execution, by what its own context executed before."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.made_queues import at_times, charging, lives, service_of
from tests.replay.plain_fifo import PlainServer, plain_fifo
from tuner.errors import TunerError
from tuner.replay.batcher import FIFO, Batcher, triton_default
from tuner.replay.changes import FREE, ChangeCosts
from tuner.replay.concurrency import SHARED, Concurrency, independent
from tuner.replay.queueing import Server, Service, replay
from tuner.traffic.arrivals import ArrivalPart, arrivals_of

ONE = Server(batcher=FIFO)
APART = Server(batcher=FIFO, contexts=2, concurrency=independent(2))


def ten(seq, batch):
    return 10.0


def by_seq(seq, batch):
    """Sequences of 1 and 2 have a profile, longer ones another."""
    return int(seq > 2)


def ends_ms(times_ms, seqs, server, *, size_ms=1.0, profile_ms=3.0):
    """When each request ends, in ms, at 10 ms each and by the profiles of `by_seq`."""
    arrivals = at_times(np.asarray(times_ms) / 1000, seqs=seqs)
    service = charging(service_of(arrivals, 8, ten), size_ms, profile_ms, by_seq)
    _, finish_s = lives(arrivals, service, server)
    return [round(float(value) * 1000, 6) for value in finish_s]


def test_sizes_that_take_turns_are_charged_each_time_but_the_first():
    assert ends_ms([0, 0, 0], [1, 2, 1], ONE) == [10, 21, 32]


def test_the_same_size_again_is_charged_nothing():
    assert ends_ms([0, 0, 0, 50], [2, 2, 2, 2], ONE) == [10, 20, 30, 60]


def test_another_profile_is_charged_instead_of_another_size():
    assert ends_ms([0, 0, 0, 0, 0], [1, 3, 4, 4, 2], ONE) == [10, 23, 34, 44, 57]


def test_an_idle_time_does_not_make_the_context_forget():
    assert ends_ms([0, 1000], [1, 3], ONE) == [10, 1013]


def test_each_context_remembers_what_itself_executed():
    assert ends_ms([0, 0, 20, 20], [1, 3, 1, 3], APART) == [10, 10, 30, 30]
    assert ends_ms([0, 0, 20, 20], [1, 3, 3, 1], APART) == [10, 10, 33, 33]
    assert ends_ms([0, 0, 20, 40, 40], [1, 1, 2, 2, 2], APART) == [10, 10, 31, 50, 51]


def test_on_a_shared_gpu_a_change_is_work_like_service():
    shared = Server(batcher=FIFO, contexts=2)
    assert ends_ms([0, 0, 100, 100], [1, 1, 3, 3], shared) == [20, 20, 126, 126]
    measured = dataclasses.replace(shared, concurrency=Concurrency((1.0, 1.6)))
    assert ends_ms([0, 0, 100, 100], [1, 1, 2, 2], measured) == [12.5, 12.5, 113.75, 113.75]


def test_batches_that_vary_in_size_are_charged():
    # Batches of 1, 3 and 3 in one go, and 1 after a pause.
    ends = ends_ms([0, 1, 2, 3, 11, 12, 13, 50], [1] * 8, Server(batcher=triton_default(3)))
    assert ends == [10, 21, 21, 21, 31, 31, 31, 61]


def test_a_batch_under_another_profile_is_charged_that():
    arrivals = at_times([0.0, 0.001, 0.002, 0.1])
    service = charging(service_of(arrivals, 4, ten), 1.0, 3.0, lambda seq, batch: int(batch > 1))
    _, finish_s = lives(arrivals, service, Server(batcher=triton_default(4)))
    assert finish_s * 1000 == pytest.approx([10, 23, 23, 113])


def test_padded_batches_of_one_cell_are_alike():
    arrivals = at_times([0.0, 0.001, 0.002, 0.003, 0.004], seqs=[4, 1, 4, 4, 1])
    service = charging(service_of(arrivals, 2, ten), 1.0, 1.0)
    server = Server(batcher=triton_default(2, "pad"))
    _, finish_s = lives(arrivals, service, server)
    assert finish_s * 1000 == pytest.approx([10, 21, 21, 31, 31])


def test_models_of_their_own_change_no_profile():
    arrivals = at_times([0.0, 0.0, 0.0, 0.0], seqs=[1, 2, 1, 2])
    one = service_of(arrivals, 1, ten)
    lanes = Service(
        one.sizes,
        np.repeat(one.latency_ms, 2, axis=0),
        np.array([0, 1]),
        changes=ChangeCosts(size_ms=1, profile_ms=3),
    )
    found = replay(arrivals, lanes, ONE)
    assert (found.charged.size_share, found.charged.profile_share) == (0, 0)
    assert found.span_s == pytest.approx(0.040)


def test_shares_of_executions_that_changed_are_told():
    arrivals = at_times([0.0, 0.0, 0.0, 0.0, 0.0], seqs=[1, 3, 4, 4, 2])
    found = replay(arrivals, charging(service_of(arrivals, 1, ten), 1.0, 3.0, by_seq), ONE)
    assert str(found.charged) == (
        "1 ms after another size (20.0% of the executions), 3 ms after another profile (40.0%)"
    )
    assert found.busy_share == pytest.approx(1.0)
    assert found.span_s == pytest.approx(0.057)


def test_each_side_of_a_clock_reset_starts_with_contexts_that_executed_nothing():
    times, sizes = np.array([100.0, 100.0, 5.0, 5.0]), np.array([[1, 1], [1, 3], [1, 1], [1, 3]])
    arrivals = arrivals_of(("batch", "seq"), [ArrivalPart("a.jsonl", times, sizes)])
    found = replay(arrivals, charging(service_of(arrivals, 1, ten), 1.0, 3.0, by_seq), ONE)
    assert found.charged.profile_share == 0.5
    assert found.span_s == pytest.approx(2 * 0.023)


def test_profile_indices_have_the_shape_of_the_service_times():
    service = service_of(at_times([0.0]), 2, ten)
    with pytest.raises(TunerError, match=r"profile indices have shape \(1, 1, 2\)"):
        dataclasses.replace(service, profile_index=np.zeros((1, 1, 2), np.int64))


GAPS = st.lists(st.integers(0, 12), min_size=1, max_size=60)
"""Times between arrivals in 1/1024 s, so that sums are exact and ties fall alike."""


@given(
    gaps=GAPS,
    seqs=st.lists(st.integers(1, 4), min_size=60, max_size=60),
    contexts=st.integers(1, 4),
    concurrency=st.sampled_from([SHARED, independent(4), Concurrency((1.0, 1.25, 1.5))]),
    costs=st.tuples(st.integers(0, 3), st.integers(0, 5)),
)
@settings(max_examples=150, deadline=None)
def test_fifo_with_changes_is_what_plain_python_makes_of_it(gaps, seqs, contexts, concurrency, costs):
    tick_s, (size, more) = 1 / 1024, costs
    arrivals = at_times(np.cumsum(gaps) * tick_s, seqs=seqs[: len(gaps)])
    in_ms = 1000 * tick_s
    service = service_of(arrivals, 1, lambda seq, batch: (2 + 3 * seq) * in_ms)
    service = charging(service, size * in_ms, (size + more) * in_ms, by_seq)
    server = Server(batcher=FIFO, contexts=contexts, concurrency=concurrency)
    plain = PlainServer(
        contexts=contexts,
        rate=concurrency.rate,
        service_s=lambda seq: (2 + 3 * seq) * tick_s,
        profile_of=lambda seq: by_seq(seq, 1),
        size_change_s=size * tick_s,
        profile_change_s=(size + more) * tick_s,
    )
    start_s, finish_s, changes = plain_fifo(arrivals.arrival_s, arrivals.values("seq").tolist(), plain)
    found_start_s, found_finish_s = lives(arrivals, service, server)
    assert found_start_s == pytest.approx(start_s, abs=1e-9)
    assert found_finish_s == pytest.approx(finish_s, abs=1e-9)
    charged = replay(arrivals, service, server).charged
    if size + more == 0:
        assert charged is None
    else:
        shares = (charged.size_share * len(gaps), charged.profile_share * len(gaps))
        assert shares == pytest.approx((changes["size"], changes["profile"]))


@given(
    gaps=st.lists(st.integers(0, 12), min_size=1, max_size=60),
    seqs=st.lists(st.integers(1, 4), min_size=60, max_size=60),
    delay_us=st.sampled_from([0, 3000]),
    unlike=st.sampled_from(["separate", "pad"]),
)
@settings(max_examples=80, deadline=None)
def test_every_batch_of_one_instance_takes_its_service_and_the_change_from_the_batch_before(
    gaps, seqs, delay_us, unlike
):
    arrivals = at_times(np.cumsum(gaps) / 1000, seqs=seqs[: len(gaps)])
    free = service_of(arrivals, 4, lambda seq, batch: 2.0 + seq + 0.5 * batch)
    service = charging(free, 0.25, 1.0, lambda seq, batch: int(batch > 2))
    batcher = Batcher(max_batch=4, max_queue_delay_microseconds=delay_us, unlike_shapes=unlike)
    start_s, finish_s = lives(arrivals, service, Server(batcher=batcher))
    last = None
    for begin in np.unique(start_s):
        inside = start_s == begin
        executed = (int(arrivals.values("seq")[inside].max()), int(inside.sum()))
        expected = 2.0 + executed[0] + 0.5 * executed[1]
        if last is not None and (last[1] > 2) != (executed[1] > 2):
            expected += 1.0
        elif last is not None and last != executed:
            expected += 0.25
        assert (finish_s[inside] - begin) * 1000 == pytest.approx(expected)
        last = executed


@given(gaps=GAPS, contexts=st.integers(1, 3), largest=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_free_changes_leave_every_time_as_it_is(gaps, contexts, largest):
    arrivals = at_times(np.cumsum(gaps) / 1000, seqs=np.arange(len(gaps)) % 3 + 1)
    service = service_of(arrivals, largest, lambda seq, batch: 3.0 + 0.7 * seq * batch)
    free = charging(service, 0.0, 0.0, by_seq)
    assert free.changes == FREE
    server = Server(batcher=triton_default(largest), contexts=contexts)
    for before, after in zip(lives(arrivals, service, server), lives(arrivals, free, server), strict=True):
        assert np.array_equal(before, after)
    assert replay(arrivals, free, server).charged is None
