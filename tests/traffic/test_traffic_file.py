"""The traffic file stands in for the logs that it was made from."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.logs.log_files import csv, lines, parquet, read, rejected
from tuner.errors import TunerError
from tuner.traffic.traffic import Traffic
from tuner.traffic.traffic_file import check_traffic_path, write_traffic

START = 1_714_521_600


@pytest.fixture
def traffic(tmp_path: Path) -> Traffic:
    rows = [{"ts": START + i, "batch": i % 4 + 1, "tokens": i % 7 + 1} for i in range(100)]
    return read(lines(tmp_path / "a.jsonl", [*rows, {"ts": None, "batch": 9, "tokens": 9}, {"batch": 1}]))


def test_it_gives_the_traffic_back(traffic: Traffic, tmp_path: Path) -> None:
    write_traffic(traffic, tmp_path / "traffic.parquet")

    again = read(tmp_path / "traffic.parquet")

    assert again.histogram == traffic.histogram
    assert (again.row_count, again.used_row_count, again.rejections) == (102, 101, traffic.rejections)
    assert (again.start, again.end) == (traffic.start, traffic.end)
    assert again.holdout_by == "time"


def test_it_has_the_columns_and_metadata_of_the_design(traffic: Traffic, tmp_path: Path) -> None:
    write_traffic(traffic, tmp_path / "traffic.parquet")

    table = pq.read_table(tmp_path / "traffic.parquet")

    assert table.schema.names == ["batch", "seq", "count", "bucket_start"]
    assert [str(kind) for kind in table.schema.types] == ["int64", "int64", "int64", "timestamp[us, tz=UTC]"]
    assert table["bucket_start"].null_count == 1
    metadata = table.schema.metadata
    assert metadata[b"tuner.traffic"] == b"1"
    assert metadata[b"tuner.rows_read"] == b"102"
    assert json.loads(metadata[b"tuner.rejected"])["missing"][0] == 1


def test_a_batch_log_stays_one(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1, 8], "seq": [4, 4]})
    write_traffic(read(log, log_kind="batches"), tmp_path / "traffic.parquet")

    again = read(tmp_path / "traffic.parquet")

    assert again.requests_axis == "batch"
    assert again.requests(again.histogram).sum() == 9


def test_a_mapping_meant_for_the_logs_does_no_harm(traffic: Traffic, tmp_path: Path) -> None:
    write_traffic(traffic, tmp_path / "traffic.parquet")

    again = read(
        tmp_path / "traffic.parquet",
        axes={"batch": "batch_size", "seq": "tokens/4"},
        time="ts",
        log_kind="batches",
    )

    assert again.histogram == traffic.histogram


def test_several_traffic_files_are_one(traffic: Traffic, tmp_path: Path) -> None:
    for name in ("1", "2"):
        write_traffic(traffic, tmp_path / f"{name}.parquet")

    again = read(tmp_path / "1.parquet", tmp_path / "2.parquet")

    assert again.histogram.request_count == 2 * traffic.histogram.request_count
    assert again.row_count == 2 * traffic.row_count
    assert rejected(again) == {"missing": 2}


def test_a_histogram_of_another_tool_needs_no_metadata(tmp_path: Path) -> None:
    times = pa.array([START * 10**6, None], pa.timestamp("us", "UTC"))
    log = parquet(
        tmp_path / "a.parquet", {"batch": [1, 2], "seq": [8, 9], "count": [5, 6], "bucket_start": times}
    )

    assert read(log).histogram.request_count == 11


def test_it_is_not_mixed_with_logs(traffic: Traffic, tmp_path: Path) -> None:
    write_traffic(traffic, tmp_path / "traffic.parquet")
    log = csv(tmp_path / "b.csv", "batch,seq\n1,2\n")

    with pytest.raises(TunerError, match="traffic files and logs are mixed"):
        read(tmp_path / "traffic.parquet", log)


def test_a_version_from_the_future_is_refused(tmp_path: Path) -> None:
    table = pa.table({"seq": [1], "count": [1]}).replace_schema_metadata({"tuner.traffic": "2"})
    pq.write_table(table, tmp_path / "a.parquet")

    with pytest.raises(TunerError, match="traffic file of version 2; version 1 is read"):
        read(tmp_path / "a.parquet")


def test_a_failed_write_leaves_the_old_file(traffic: Traffic, tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="does not exist; create it first"):
        check_traffic_path(tmp_path / "nowhere" / "traffic.parquet")
    with pytest.raises(TunerError, match=r"cannot write .*nowhere"):
        write_traffic(traffic, tmp_path / "nowhere" / "traffic.parquet")
    write_traffic(traffic, tmp_path / "traffic.parquet")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "traffic.parquet"]


def test_an_axis_named_like_a_column_of_the_file_is_refused(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"count": [3]})

    with pytest.raises(TunerError, match="an axis is named count"):
        write_traffic(read(log, axes={"count": "count"}, log_kind="requests"), tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tuner.rows_read": "0"}, "says that 1 of 0 rows were rejected, which cannot be"),
        ({"tuner.rejected": '{"missing": [-1, "a"]}'}, "says that -1 of 102 rows were rejected"),
        ({"tuner.rejected": "[1"}, "cannot be read"),
        ({"tuner.span_us": "[0, 1000000000000000000000000000]"}, "cannot be read"),
        ({"tuner.span_us": "[0, 999999999999999999]"}, "cannot be read"),
    ],
)
def test_an_account_that_cannot_be_is_refused(
    traffic: Traffic, tmp_path: Path, changed: dict[str, str], words: str
) -> None:
    path = tmp_path / "traffic.parquet"
    write_traffic(traffic, path)
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, **{name.encode(): text for name, text in changed.items()}}
    pq.write_table(table.replace_schema_metadata(metadata), path)

    with pytest.raises(TunerError, match=words):
        read(path)
