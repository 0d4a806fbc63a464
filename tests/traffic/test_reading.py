"""Logs as traffic: what adds up, what is held out, what is left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.logs.log_files import csv, lines, parquet, percentiles, read, rejected
from tuner.errors import TunerError
from tuner.settings import LogSettings
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.reading import read_traffic, refuse_too_many_rejections

FILES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
START = 1_714_521_600

rows = st.fixed_dictionaries(
    {"seq": st.none() | st.integers(-1, 9) | st.sampled_from([0.5, 2**40, "x", float("nan")])},
    optional={"ts": st.none() | st.integers(START, START + 100), "count": st.integers(-1, 5)},
)
files = st.lists(st.lists(rows, min_size=1, max_size=12), min_size=1, max_size=4)


def write_all(folder: Path, parts: list[list[dict[str, Any]]]) -> list[Path]:
    return [
        lines(folder / f"{i}.jsonl", [*part, {"seq": 1, "ts": START, "count": 1}])
        for i, part in enumerate(parts)
    ]


@FILES
@given(files, st.sampled_from(["requests", "histogram"]))
def test_rows_read_are_rows_used_rejected_and_skipped(
    tmp_path: Path, parts: list[list[dict[str, Any]]], log_kind: str
) -> None:
    traffic = read(*write_all(tmp_path, parts), log_kind=log_kind, axes={"seq": "seq"})

    accounted = traffic.used_row_count + traffic.rejected_count + sum(traffic.skipped.values())
    assert traffic.row_count == accounted == sum(len(part) + 1 for part in parts)
    if log_kind == "requests":
        assert traffic.histogram.request_count == traffic.used_row_count


@FILES
@given(files)
def test_many_files_at_once_are_their_ingestions_merged(
    tmp_path: Path, parts: list[list[dict[str, Any]]]
) -> None:
    logs = write_all(tmp_path, parts)
    together = read(*logs, axes={"seq": "seq"})
    alone = [read(log, axes={"seq": "seq"}) for log in logs]

    assert together.histogram == SizeHistogram.merged(part.histogram for part in alone)
    assert together.row_count == sum(part.row_count for part in alone)
    for reason in together.rejections:
        assert rejected(together)[reason] == sum(rejected(part).get(reason, 0) for part in alone)


def test_the_last_30_percent_in_order_of_time_are_held_out(tmp_path: Path) -> None:
    times = np.random.default_rng(0).permutation(1000)
    log = parquet(tmp_path / "a.parquet", {"ts": START + times, "seq": times + 1})

    traffic = read(log)

    assert traffic.holdout_by == "time"
    assert traffic.holdout is not None
    assert traffic.holdout.values("seq").tolist() == list(range(701, 1001))
    assert traffic.tune.request_count == 700


def test_a_histogram_with_times_is_cut_at_bucket_bounds(tmp_path: Path) -> None:
    log = parquet(
        tmp_path / "a.parquet", {"ts": [START, START + 1, START + 2], "seq": [1, 2, 3], "count": [40, 35, 25]}
    )

    traffic = read(log)

    assert traffic.holdout is not None
    assert traffic.holdout.values("seq").tolist() == [3]


def test_a_batch_log_is_cut_by_requests(tmp_path: Path) -> None:
    log = parquet(
        tmp_path / "a.parquet", {"ts": [START, START + 1, START + 2], "batch": [69, 1, 30], "seq": [1, 2, 3]}
    )

    traffic = read(log, log_kind="batches")

    assert traffic.holdout is not None
    assert traffic.holdout.values("seq").tolist() == [3]


def test_rows_without_time_are_held_out_by_hash_and_always_the_same(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": np.arange(1, 10_001)})

    traffic = read(log)

    assert traffic.holdout_by == "hash"
    assert traffic.holdout is not None
    assert 0.28 < traffic.holdout.request_count / 10_000 < 0.32
    assert read(log).holdout == traffic.holdout


def test_a_histogram_without_times_has_no_holdout(tmp_path: Path) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"seq": [1, 2], "count": [5, 5]}))

    assert (traffic.holdout, traffic.holdout_by, traffic.buckets) == (None, None, None)


def test_times_that_are_all_the_same_give_no_holdout(tmp_path: Path) -> None:
    assert read(parquet(tmp_path / "a.parquet", {"ts": [START] * 9, "seq": [1] * 9})).holdout_by is None


def test_buckets_hold_every_timed_request(tmp_path: Path) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"ts": [START, None, START + 5], "seq": [1, 2, 3]}))

    assert traffic.buckets is not None
    assert traffic.buckets.starts_us.tolist() == [START * 10**6, (START + 5) * 10**6]
    assert traffic.histogram.values("seq")[traffic.buckets.size_rows].tolist() == [1, 3]


def test_the_span_is_exact(tmp_path: Path) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"ts": [START * 1000 + 123, START * 1000], "seq": [1, 1]}))

    assert traffic.start == datetime(2024, 5, 1, tzinfo=UTC)
    assert traffic.end == datetime(2024, 5, 1, 0, 0, 0, 123_000, tzinfo=UTC)


@pytest.mark.parametrize("dress", ["timestamp", "epoch", "text"])
def test_since_and_until_keep_what_lies_between(tmp_path: Path, dress: str) -> None:
    seconds = START + np.arange(1000)
    times = {
        "timestamp": pa.array(seconds * 10**6, pa.timestamp("us", "UTC")),
        "epoch": pa.array(seconds),
        "text": pa.array([datetime.fromtimestamp(s, UTC).isoformat() for s in seconds]),
    }[dress]
    log = parquet(tmp_path / "a.parquet", {"ts": times, "seq": np.arange(1000) + 1}, row_group_size=100)

    traffic = read(log, since="2024-05-01T00:05:00Z", until="2024-05-01T00:10:00Z")

    assert traffic.histogram.values("seq").tolist() == list(range(301, 601))
    assert traffic.skipped == {"outside --since and --until": 700}


def test_row_groups_outside_the_window_are_not_read(tmp_path: Path) -> None:
    log = parquet(
        tmp_path / "a.parquet",
        {"ts": START + np.arange(100), "seq": np.ones(100, np.int64)},
        row_group_size=10,
    )
    data = bytearray(log.read_bytes())
    data[4:200] = b"\xff" * 196  # the first row group is beyond repair
    log.write_bytes(bytes(data))

    assert read(log, since=str(START + 50)).histogram.request_count == 50


def test_folders_outside_the_window_are_not_opened(tmp_path: Path) -> None:
    parquet(
        tmp_path / "date=2024-05-02" / "hour=07" / "a.parquet", {"seq": [5], "ts": [START + 90_000 + 21_600]}
    )
    broken = tmp_path / "date=2024-05-01" / "a.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"PAR1 broken")

    traffic = read(tmp_path, since="2024-05-02")

    assert traffic.histogram.request_count == 1
    assert traffic.rejected_count == 0
    assert any("1 files lie outside --since and --until" in note for note in traffic.notes)


@pytest.mark.parametrize(("since", "until"), [("2024-05-02", "2024-05-01"), ("2024-05-01", "2024-05-01")])
def test_a_window_of_nothing_is_an_error(tmp_path: Path, since: str, until: str) -> None:
    with pytest.raises(TunerError, match=f"--since {since} is not before --until {until}"):
        read(parquet(tmp_path / "a.parquet", {"seq": [1]}), since=since, until=until)


def test_files_that_disagree_on_types_and_names_are_read_each_by_its_own_schema(tmp_path: Path) -> None:
    parquet(tmp_path / "0.parquet", {"seq_len": pa.nulls(2)})
    parquet(tmp_path / "1.parquet", {"seq_len": pa.array([16, 32], pa.int32())})
    parquet(tmp_path / "2.parquet", {"sequence_length": [64, 128], "image_h": [224, 256]})
    parquet(tmp_path / "3.parquet", {"seq_len": ["256", "512"]})
    parquet(tmp_path / "4.parquet", {"seq_len": [1024.0]})
    csv(tmp_path / "5.csv", "seq_len\n8\n")

    traffic = read(tmp_path)

    assert percentiles(traffic, "seq", 0, 100) == [8, 1024]
    assert rejected(traffic) == {"missing": 2}
    assert "seq is column 'sequence_length' (a known name for it), in 1 of 6 files" in traffic.notes


def test_a_truncated_file_among_others_is_one_problem(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "a.parquet", {"seq": [1, 2, 3]})
    data = whole.read_bytes()
    (tmp_path / "b.parquet").write_bytes(data[: len(data) // 2])
    lines(tmp_path / "c.jsonl", [{"seq": 4}])

    traffic = read(tmp_path)

    assert traffic.histogram.values("seq").tolist() == [1, 2, 3, 4]
    assert rejected(traffic) == {"damaged": 1}
    assert traffic.rejections["damaged"].first_place.endswith("b.parquet")
    assert traffic.row_count == 5


def test_a_truncated_file_alone_is_an_error_with_its_name(tmp_path: Path) -> None:
    whole = parquet(tmp_path / "a.parquet", {"seq": [1, 2, 3]})
    whole.write_bytes(whole.read_bytes()[:-10])

    with pytest.raises(TunerError, match=r"a\.parquet: cannot be read"):
        read(whole)


def test_a_file_that_breaks_on_the_way_counts_for_nothing(tmp_path: Path) -> None:
    log = parquet(
        tmp_path / "a.parquet",
        {"seq": np.arange(1, 100_001)},
        row_group_size=10_000,
        write_page_checksum=True,
    )
    data = bytearray(log.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = b"\x00" * 2000
    log.write_bytes(bytes(data))
    lines(tmp_path / "b.jsonl", [{"seq": 7}])

    traffic = read(tmp_path)

    assert traffic.histogram.values("seq").tolist() == [7]
    assert rejected(traffic) == {"damaged": 1}


@pytest.mark.parametrize("content", ["", "seq\n", '{"seq": null}\n', '{"seq": 0}\n'])
def test_nothing_usable_is_an_error(tmp_path: Path, content: str) -> None:
    log = tmp_path / "a.log"
    log.write_text(content)

    with pytest.raises(TunerError, match="no usable rows"):
        read(log, axes={"seq": "seq"})


def test_rejections_within_the_limit_pass_and_beyond_it_do_not(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 1}] * 99 + [{"seq": None}])
    asked = LogSettings(logs=(str(log),))
    traffic = read_traffic(asked, None)

    refuse_too_many_rejections(traffic, asked)
    with pytest.raises(
        TunerError, match=r"1 of 100 rows are rejected \(missing 1\), and --strict accepts none"
    ):
        refuse_too_many_rejections(traffic, LogSettings(logs=asked.logs, strict=True))
    with pytest.raises(TunerError, match=r"1 of 100 rows are rejected .* raise --max-rejected"):
        refuse_too_many_rejections(traffic, LogSettings(logs=asked.logs, max_rejected=0.009))


def test_progress_ends_at_all_rows(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text("".join(json.dumps({"seq": i + 1}) + "\n" for i in range(1000)))
    seen: list[tuple[int, int]] = []

    read_traffic(LogSettings(logs=(str(log),)), None, lambda done, count: seen.append((done, count)))

    assert seen[-1][1] == 1000
    assert seen[-1][0] == pytest.approx(log.stat().st_size, rel=0.3)
