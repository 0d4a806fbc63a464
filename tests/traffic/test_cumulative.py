"""Cumulative buckets and counters, each request counted once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.logs.log_files import csv, percentiles, read
from tuner.errors import TunerError

PROMETHEUS = "le,count\n64,700\n256,900\n1024,990\n+Inf,1000\n"


def test_buckets_are_counted_at_their_upper_bounds(tmp_path: Path) -> None:
    traffic = read(csv(tmp_path / "a.csv", PROMETHEUS), cap={"le": 4096})

    assert traffic.log_kind == "cumulative"
    assert traffic.histogram.request_count == 1000
    assert percentiles(traffic, "le", 50, 90, 95, 99, 100) == [64, 256, 1024, 1024, 4096]
    assert any("upper bounds of buckets" in note for note in traffic.notes)


def test_requests_above_the_last_bound_need_a_cap(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", PROMETHEUS)

    with pytest.raises(TunerError, match=r"10 of 1000 requests lie above the last bound 1024.*--cap seq=N"):
        read(log, axes={"seq": "le"})
    with pytest.raises(TunerError, match="N from 1024 up"):
        read(log, axes={"seq": "le"}, cap={"seq": 512})


def test_an_open_bound_that_adds_nothing_needs_no_cap(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", "le,count\n64,700\n+Inf,700\n")

    assert read(log).histogram.request_count == 700


def test_counts_that_fall_are_no_cumulative_buckets(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", "seq,count\n64,700\n256,200\n")

    assert read(log).histogram.request_count == 900
    with pytest.raises(TunerError, match=r"goes from 700 at 64 to 200 at 256.*--log-kind histogram"):
        read(log, log_kind="cumulative")


def test_each_batch_has_its_own_buckets(tmp_path: Path) -> None:
    text = "batch,le,count\n1,64,5\n1,128,8\n4,64,1\n4,128,3\n"

    traffic = read(csv(tmp_path / "a.csv", text), axes={"batch": "batch", "seq": "le"})

    assert traffic.histogram.to_frame().to_numpy().tolist() == [
        [1, 64, 5],
        [1, 128, 3],
        [4, 64, 1],
        [4, 128, 2],
    ]


def test_which_axis_has_the_bounds_is_asked_when_it_is_not_plain(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", "batch,seq,count\n1,64,5\n")

    with pytest.raises(TunerError, match="which of batch, seq has upper bounds"):
        read(log, log_kind="cumulative")


SCRAPES = "time,le,value\n{0},64,10\n{0},+Inf,10\n{1},64,70\n{1},256,90\n{1},+Inf,90\n"
HOURS = ("2024-05-01T00:00:00Z", "2024-05-01T01:00:00Z")


def test_counters_count_what_they_grew_by(tmp_path: Path) -> None:
    traffic = read(csv(tmp_path / "a.csv", SCRAPES.format(*HOURS)), log_kind="counters")

    assert traffic.histogram.to_frame().to_numpy().tolist() == [[64, 60], [256, 20]]


def test_what_may_be_either_is_asked(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", SCRAPES.format(*HOURS))

    with pytest.raises(TunerError, match="say which with --log-kind counters or --log-kind cumulative"):
        read(log)
    assert read(log, log_kind="cumulative").histogram.request_count == 100


def test_two_files_are_two_snapshots_in_order_of_their_names(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", "seq,count\n8,100\n9,5\n")
    csv(tmp_path / "2.csv", "seq,count\n8,150\n9,5\n")

    traffic = read(tmp_path, log_kind="counters")

    assert traffic.histogram.to_frame().to_numpy().tolist() == [[8, 50]]
    assert (traffic.start, traffic.buckets) == (None, None)


def test_a_counter_that_started_anew_counts_whole_and_is_said(tmp_path: Path) -> None:
    csv(tmp_path / "1.csv", "seq,count\n8,100\n")
    csv(tmp_path / "2.csv", "seq,count\n8,30\n")

    traffic = read(tmp_path, log_kind="counters")

    assert traffic.histogram.request_count == 30
    assert any("started anew 1 times" in note for note in traffic.notes)


def test_one_snapshot_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="needs two snapshots or more"):
        read(csv(tmp_path / "a.csv", "seq,count\n8,100\n"), log_kind="counters")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.dictionaries(st.integers(1, 500), st.integers(1, 50), min_size=1, max_size=8))
def test_cumulating_and_reading_gives_the_counts_back(tmp_path: Path, counts: dict[int, int]) -> None:
    total, rows = 0, []
    for bound in sorted(counts):
        total += counts[bound]
        rows.append(f"{bound},{total}")

    traffic = read(csv(tmp_path / "a.csv", "le,count\n" + "\n".join(rows) + "\n"))

    assert traffic.histogram.to_frame().to_numpy().tolist() == [[b, counts[b]] for b in sorted(counts)]
