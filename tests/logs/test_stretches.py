"""Row groups that are read in one go: which are joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.logs.log_files import parquet
from tuner.logs.footer import footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.log_file import Wanted
from tuner.logs.sources import find_sources
from tuner.logs.stretches import BATCH_ROWS, Stretch, stretches

HOUR_US = 3_600_000_000
MAY_US = 1_714_521_600_000_000


def found(log: Path, span: tuple[int, int] | None = None, **wanted: Any) -> list[Stretch]:
    metadata = pq.read_metadata(log)
    footer = footer_of(find_sources([str(log)]).sources[0])
    asked = Wanted(**{"names": ("ts",), "time": "ts", **wanted})
    times = GroupTimes(footer, metadata, pa.timestamp("us", "UTC"), asked)
    return list(stretches(metadata, times, span or (0, metadata.num_row_groups)))


def hourly(path: Path, hours: list[float]) -> Path:
    """A file with a row group for each hour, of two rows a second apart."""
    starts = [MAY_US + round(hour * HOUR_US) for hour in hours]
    times = pa.array([us + second for us in starts for second in (0, 1_000_000)], pa.timestamp("us", "UTC"))
    return parquet(path, {"ts": times, "seq": [1] * len(times)}, row_group_size=2)


def test_groups_are_joined(tmp_path: Path) -> None:
    assert found(hourly(tmp_path / "a.parquet", [0, 1, 2])) == [Stretch((0, 1, 2), 0, 6, False)]


def test_groups_outside_of_the_window_are_apart(tmp_path: Path) -> None:
    log = hourly(tmp_path / "a.parquet", [0, 1, 2, 3, 4])
    window = (MAY_US + 2 * HOUR_US, MAY_US + 3 * HOUR_US + 1_000_000)
    assert [(s.groups, s.is_outside) for s in found(log, window=window)] == [
        ((0, 1), True),
        ((2, 3), False),  # the second row of the last group is outside
        ((4,), True),
    ]


def test_no_more_rows_are_joined_than_are_read_at_a_time(tmp_path: Path) -> None:
    third = BATCH_ROWS // 3
    log = parquet(tmp_path / "a.parquet", {"seq": pa.array([1] * (third * 7))}, row_group_size=third)
    assert [s.groups for s in found(log, names=("seq",), time=None)] == [(0, 1, 2), (3, 4, 5), (6,)]


def test_a_span_of_groups_has_its_rows_numbers_in_the_file(tmp_path: Path) -> None:
    log = hourly(tmp_path / "a.parquet", [0, 1, 2, 3])
    assert found(log, (1, 3)) == [Stretch((1, 2), 2, 4, False)]


def test_groups_without_rows_are_left_out(tmp_path: Path) -> None:
    schema = pa.schema({"ts": pa.timestamp("us"), "seq": pa.int64()})
    empty, full = schema.empty_table(), pa.table({"ts": pa.array([MAY_US]), "seq": [1]}).cast(schema)
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for table in (empty, full, empty, full):
            writer.write_table(table)
    joined = found(tmp_path / "a.parquet")
    assert [(s.first_row, s.row_count) for s in joined] == [(0, 2)]
