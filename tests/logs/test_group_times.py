"""Times that footers tell: what they may leave out, and what they must not."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.logs.log_files import parquet
from tuner.logs.footer import footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.log_file import Wanted
from tuner.logs.parquet_file import open_parquet
from tuner.logs.sources import find_sources

MAY, JUNE = 1_714_521_600, 1_717_200_000
MAY_US, JUNE_US = MAY * 10**6, JUNE * 10**6


def times_of(log: Path, window: tuple[int | None, int | None] = (None, None), **wanted: Any) -> GroupTimes:
    wanted = {"names": ("ts",), "time": "ts", "window": window, **wanted}
    footer = footer_of(find_sources([str(log)]).sources[0])
    return GroupTimes(footer, pq.read_metadata(log), pa.timestamp("us", "UTC"), Wanted(**wanted))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([MAY, JUNE]),
        pa.array([MAY * 1000, JUNE * 1000]),
        pa.array([float(MAY), float(JUNE)]),
        pa.array([MAY, JUNE], pa.uint32()),
        pa.array([date(2024, 5, 1), date(2024, 6, 1)]),
        *(
            pa.array([datetime(2024, 5, 1), datetime(2024, 6, 1)], pa.timestamp(unit, zone))
            for unit in ("s", "ms", "us", "ns")
            for zone in (None, "UTC", "Europe/Berlin")
        ),
    ],
)
def test_every_dress_of_time_has_its_span(tmp_path: Path, column: pa.Array) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [1, 2], "ts": column}, row_group_size=1)

    assert times_of(log).span() == (MAY_US, JUNE_US)
    assert [times_of(log, (JUNE_US, None)).is_outside(group) for group in (0, 1)] == [True, False]
    assert [times_of(log, (None, JUNE_US)).is_outside(group) for group in (0, 1)] == [False, True]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["2024-05-01", "2024-06-01"]),
        pa.array([1, JUNE * 1000]),
        pa.array([1e300, 1e300]),
        pa.array([0, 2**60], pa.timestamp("us")),
        pa.array([1, 2], pa.time64("us")),
        pa.array([None, None], pa.timestamp("us")),
        pa.array([2**31 + 5, 4 * 10**9], pa.uint32()),  # their bounds look like times before 1970
    ],
)
def test_what_is_in_doubt_is_read(tmp_path: Path, column: pa.Array) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [1, 2], "ts": column})

    assert times_of(log).span() is None
    assert not times_of(log, (JUNE_US, None)).is_outside(0)


def test_a_group_with_rows_that_have_no_time_is_read(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"ts": pa.array([MAY, None])})

    assert not times_of(log, (JUNE_US, None)).is_outside(0)
    assert times_of(log).span() == (MAY_US, MAY_US)


def test_a_column_inside_a_struct_is_found_by_its_path(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"a": [1], "request": pa.array([{"n": 1, "ts": MAY}])})

    assert times_of(log, names=("request.ts",), time="request.ts").span() == (MAY_US, MAY_US)


def test_a_file_that_was_opened_tells_its_times_without_being_read_again(tmp_path: Path) -> None:
    log = tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": [10**9, 10**9 + 5], "seq": [1, 2]}), log)
    opened = open_parquet(find_sources([str(log)]).sources[0])
    log.unlink()

    assert opened.time_span is not None
    assert opened.time_span(Wanted(("ts", "seq"), time="ts")) == (10**15, 10**15 + 5_000_000)
