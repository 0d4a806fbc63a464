"""Single requests as they are read from logs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tuner.errors import TunerError
from tuner.settings import LogSettings
from tuner.traffic.reading_arrivals import read_arrivals


def write(folder, rows):
    file = folder / "log.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return LogSettings(logs=(str(file),), axes={"seq": "tokens"}, time="at", log_kind="requests")


def test_requests_come_with_their_times_sizes_and_latencies(tmp_path):
    rows = [{"at": 1_700_000_000 + i, "tokens": 10 * (i + 1), "latency_ms": 5.0 + i} for i in range(3)]
    found = read_arrivals(write(tmp_path, rows), None)
    assert found.arrival_s.tolist() == [0, 1, 2]
    assert found.values("seq").tolist() == [10, 20, 30]
    assert found.latency_ms.tolist() == [5, 6, 7]


def test_rows_that_are_no_valid_request_or_have_no_time_are_left_out(tmp_path):
    rows = [
        {"at": 1_700_000_000, "tokens": 10},
        {"at": 1_700_000_001, "tokens": -1},
        {"at": None, "tokens": 10},
        {"at": 1_700_000_005, "tokens": 30},
    ]
    found = read_arrivals(write(tmp_path, rows), None)
    assert found.arrival_s.tolist() == [0, 5]
    assert found.values("seq").tolist() == [10, 30]


def test_a_latency_column_that_is_not_there_is_named_with_the_nearest(tmp_path):
    settings = write(tmp_path, [{"at": 1_700_000_000, "tokens": 10, "took": 3}])
    with pytest.raises(TunerError, match=r"--latency tok: there is no such column; did you mean 'took'\?"):
        read_arrivals(settings, None, "tok")
    assert np.array_equal(read_arrivals(settings, None, "took").latency_ms, [3.0])


def test_latencies_with_holes_are_not_compared(tmp_path):
    rows = [{"at": 1_700_000_000, "tokens": 10, "latency_ms": 3}, {"at": 1_700_000_001, "tokens": 10}]
    assert read_arrivals(write(tmp_path, rows), None).latency_ms is None


def test_logs_without_times_cannot_be_replayed(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text('{"tokens": 3}\n')
    settings = LogSettings(logs=(str(file),), axes={"seq": "tokens"}, log_kind="requests")
    with pytest.raises(TunerError, match="needs the time of each request"):
        read_arrivals(settings, None)


def test_a_histogram_is_no_log_of_single_requests(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text('{"tokens": 3, "count": 5}\n')
    settings = LogSettings(logs=(str(file),), axes={"seq": "tokens"}, count="count", log_kind="histogram")
    with pytest.raises(TunerError, match="these logs are of kind histogram"):
        read_arrivals(settings, None)
