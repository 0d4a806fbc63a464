"""Arrival times as logs have them: late rows, equal times, gaps, clocks set anew."""

from __future__ import annotations

import numpy as np
import pytest

from tuner.errors import TunerError
from tuner.traffic.arrivals import ArrivalPart, arrivals_of


def part(times, place="a.jsonl", sizes=None, latency=None):
    times = np.asarray(times, dtype=np.float64)
    rows = np.arange(len(times))[:, None] if sizes is None else np.asarray(sizes)[:, None]
    return ArrivalPart(place, times, rows.astype(np.int64), latency)


def test_late_rows_are_sorted_in_with_their_sizes_and_counted():
    found = arrivals_of(("n",), [part([0, 2, 1, 3])])
    assert found.arrival_s.tolist() == [0, 1, 2, 3]
    assert found.values("n").tolist() == [0, 2, 1, 3]
    assert found.out_of_order_count == 1
    assert found.notes == ("1 rows came out of order and were sorted in by their time",)


def test_equal_times_keep_the_order_of_the_log_and_are_counted():
    found = arrivals_of(("n",), [part([5, 5, 5, 6])])
    assert found.values("n").tolist() == [0, 1, 2, 3]
    assert found.equal_time_count == 2
    assert found.arrival_s.tolist() == [0, 0, 0, 1]


def test_a_clock_set_anew_is_named_and_splits_the_log():
    found = arrivals_of(("n",), [part([1000, 1001, 5, 6, 7])])
    assert found.segments == ((0, 2), (2, 5))
    assert found.arrival_s.tolist() == [0, 1, 0, 1, 2]
    assert found.notes == (
        "a.jsonl, row 3: the clock goes back here; the rows before and after it are replayed apart",
    )


def test_every_reset_of_a_file_is_named_by_its_own_row():
    found = arrivals_of(("n",), [part([1000, 1, 500, 2, 3])])
    assert found.segments == ((0, 1), (1, 3), (3, 5))
    assert [note.split(":")[0] for note in found.notes] == ["a.jsonl, row 2", "a.jsonl, row 4"]


def test_logs_of_two_servers_side_by_side_are_one_timeline_and_no_reset():
    found = arrivals_of(("n",), [part([0, 1000], "a"), part([10, 1010], "b")])
    assert found.segments == ((0, 4),)
    assert found.arrival_s.tolist() == [0, 10, 1000, 1010]
    assert found.out_of_order_count == 0


def test_a_pause_of_hours_is_told():
    assert arrivals_of(("n",), [part([0, 3 * 3600])]).notes == (
        "the longest pause between requests is 3.0 hours",
    )


def test_span_and_rate_leave_out_what_lies_between_segments():
    found = arrivals_of(("n",), [part([1000, 1010, 0, 10])])
    assert found.span_s == 20
    assert found.rate_rps == pytest.approx(0.1)


def test_a_part_keeps_its_segments():
    found = arrivals_of(("n",), [part([1000, 1001, 1002, 5, 6])]).part(1, 4)
    assert found.segments == ((0, 2), (2, 3))
    assert found.arrival_s.tolist() == [1, 2, 0]


def test_latencies_follow_their_requests():
    found = arrivals_of(("n",), [part([0, 2, 1], latency=np.array([10.0, 30.0, 20.0]))])
    assert found.latency_ms.tolist() == [10, 20, 30]


def test_no_request_with_a_time_is_an_error():
    with pytest.raises(TunerError, match="no request has a time; a replay needs arrival times"):
        arrivals_of(("n",), [part([])])


def test_a_time_that_is_not_finite_is_an_error():
    with pytest.raises(TunerError, match="an arrival time is not finite"):
        arrivals_of(("n",), [part([0.0, np.inf])])
