"""What Triton's dynamic batcher does, request by request; times in ms, each start by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.replay.made_queues import at_times, service_of, starts_ms
from tuner.errors import TunerError
from tuner.replay.batcher import Batcher, triton_default
from tuner.replay.queueing import Server, replay


def ten(seq, batch):
    return 10.0


def test_without_delay_an_idle_instance_takes_what_is_there_and_the_rest_waits_for_it():
    assert starts_ms([0, 1, 2, 3, 25], triton_default(8), ten) == [0, 10, 10, 10, 25]


def test_no_batch_is_larger_than_the_maximum():
    assert starts_ms([0, 1, 2, 3, 4, 5], triton_default(2), ten) == [0, 10, 10, 20, 20, 30]


def test_delay_holds_the_first_request_even_while_the_instance_is_idle():
    batcher = Batcher(max_batch=8, max_queue_delay_microseconds=4000)
    assert starts_ms([0, 1, 30], batcher, ten) == [4, 4, 34]


def test_a_preferred_size_is_executed_as_soon_as_it_is_reached():
    batcher = Batcher(max_batch=8, preferred_batch_size=(2,), max_queue_delay_microseconds=50_000)
    assert starts_ms([0, 3, 20, 21], batcher, ten) == [3, 3, 21, 21]


def test_delay_counts_from_the_oldest_request_and_not_from_the_newest():
    batcher = Batcher(max_batch=8, max_queue_delay_microseconds=5000)
    assert starts_ms([0, 4, 8], batcher, ten) == [5, 5, 15]


def test_without_delay_the_largest_preferred_size_that_is_there_is_taken():
    batcher = Batcher(max_batch=16, preferred_batch_size=(2, 4))
    # At 10 ms seven wait: two are a payload already, saturated at a preferred size; then four, then one.
    assert starts_ms([0, 1, 2, 3, 4, 5, 6, 7], batcher, ten) == [0, 10, 10, 20, 20, 20, 20, 30]


def test_late_requests_are_executed_together_beyond_the_preferred_size():
    batcher = Batcher(max_batch=16, preferred_batch_size=(2,), max_queue_delay_microseconds=1000)
    # One is late at 1 ms and executed; the five that come during the execution are late when it ends.
    starts = starts_ms([0, 3, 4, 5, 6, 7], batcher, lambda seq, batch: 20.0)
    assert starts[0] == 1
    assert starts[1:3] == [21, 21]


def test_requests_of_unlike_shape_are_not_batched_together():
    assert starts_ms([0, 1, 2, 3], triton_default(8), ten, seqs=[4, 4, 8, 4]) == [0, 10, 20, 30]


def test_padding_executes_unlike_shapes_at_the_largest():
    arrivals = at_times([0, 0.001, 0.002, 0.003], seqs=[4, 4, 8, 4])
    service = service_of(arrivals, 8, ten)
    found = replay(arrivals, service, Server(batcher=triton_default(8, "pad")))
    assert found.executed.sizes.tolist() == [[1, 4], [3, 8]]
    assert found.padding_ratio == pytest.approx((4 + 24) / (4 + 4 + 8 + 4) - 1)


def test_ragged_batches_cost_what_their_mean_length_costs():
    arrivals = at_times([0, 0.001, 0.002, 0.003], seqs=[4, 2, 8, 2])
    service = service_of(arrivals, 8, lambda seq, batch: 10.0 * seq)
    found = replay(arrivals, service, Server(batcher=triton_default(8, "ragged")))
    assert found.executed.sizes.tolist() == [[1, 4], [3, 4]]
    assert found.padding_ratio == 0.0


def test_requests_that_hold_several_rows_count_by_their_batch():
    assert starts_ms([0, 1, 2, 3], triton_default(4), ten, batches=[1, 3, 2, 2]) == [0, 10, 20, 20]


def test_two_instances_take_two_payloads():
    assert starts_ms([0, 1, 2, 3], triton_default(8), ten, contexts=2)[:2] == [0, 1]


def test_equal_times_are_taken_in_the_order_of_the_log():
    assert starts_ms([0, 0, 0], triton_default(8), ten) == [0, 10, 10]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "lifo"}, "--batcher is 'lifo'; accepted are none, fifo, triton"),
        ({"max_batch": 0}, "maximum batch is 0"),
        ({"max_batch": 4, "preferred_batch_size": (8,)}, r"preferred batch sizes \[8\] lie outside of 1 to"),
        ({"max_queue_delay_microseconds": -1}, "queue delay is -1 us"),
        ({"unlike_shapes": "crop"}, "--unlike-shapes is 'crop'; accepted are separate, pad, ragged"),
    ],
)
def test_settings_that_triton_would_refuse_are_refused(settings, message):
    with pytest.raises(TunerError, match=message):
        Batcher(**settings)


def test_no_preferred_size_means_the_maximum_as_triton_fills_it_in():
    assert triton_default(16).effective_preferred == (16,)
    assert Batcher(max_batch=16, preferred_batch_size=(8, 4, 8)).effective_preferred == (4, 8)


def test_batching_needs_fewer_executions_than_requests_under_load():
    arrivals = at_times(np.arange(200) * 0.002)
    found = replay(arrivals, service_of(arrivals, 8, ten), Server(batcher=triton_default(8)))
    assert found.mean_batch > 4


def test_a_delay_ends_at_any_distance_from_the_start_of_the_log():
    # Far from zero a sum of times is rounded by more than a nanosecond; the batcher must not wait for ever.
    far_ms = 4e10
    times = [0, far_ms, far_ms + 0.3, 2 * far_ms]
    batcher = Batcher(max_batch=8, max_queue_delay_microseconds=333)
    starts = starts_ms(times, batcher, ten)
    assert starts[1] == pytest.approx(far_ms + 0.333, abs=0.01)
