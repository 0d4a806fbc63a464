"""Which times have to be read where they are wanted no better than to the bucket."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logs.log_files import parquet
from tests.logs.test_footer import with_footer
from tuner.logs import bucketed_times
from tuner.logs.block import Ends
from tuner.logs.footer import BYTE_COUNT, footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.log_file import Wanted
from tuner.logs.pages import pages_of
from tuner.logs.sources import find_sources
from tuner.logs.thrift_compact import whole_of

MAY_US = 1_714_521_600_000_000
MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US


def found(
    log: Path, groups: tuple[int, ...] | None = None, *, pages_may_tell: bool = True, **wanted: Any
) -> list[Any] | None:
    """For each run of rows their number, and each time (minutes into May), or the ends of them all."""
    source = find_sources([str(log)]).sources[0]
    metadata, time_type = pq.read_metadata(log), pq.read_schema(log).field("ts").type
    asked = Wanted(**{"names": ("ts",), "time": "ts", "bucket_us": HOUR_US, **wanted})
    row_counts = [
        (i, metadata.row_group(i).num_rows) for i in groups or tuple(range(metadata.num_row_groups))
    ]
    times = GroupTimes(footer_of(source), metadata, time_type, asked)
    columns = bucketed_times.bucketed_times(source, times, row_counts, pages_may_tell=pages_may_tell)
    return None if columns is None else [told(column) for column in columns]


def told(column: Ends | pa.Array) -> Any:
    if isinstance(column, Ends):
        return column.row_count, "ends", minutes(column.values)
    return len(column), "each", minutes(column)


def minutes(times: pa.Array) -> list[int]:
    return [(us - MAY_US) // MINUTE_US for us in times.cast(pa.int64()).to_pylist()]


def log_of(path: Path, at_minutes: list[int], rows_per_page: int = 100, **options: Any) -> Path:
    times = pa.array([MAY_US + minute * MINUTE_US for minute in at_minutes], pa.timestamp("us", "UTC"))
    paged = {"data_page_size": 1, "write_batch_size": rows_per_page}
    return parquet(path, {"ts": times, "seq": [1] * len(times)}, **{**paged, **options})


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a few rows are worth looking at."""
    monkeypatch.setattr(bucketed_times, "LEAST_ROWS_PER_PAGE", 1)


@pytest.fixture
def three_hours(tmp_path: Path) -> Path:
    """One row group, a row a minute, pages of 25 rows; the third and the fifth lie over an hour's end."""
    return log_of(tmp_path / "a.parquet", list(range(180)), 25)


def test_pages_over_the_end_of_a_bucket_are_read_and_no_others(three_hours: Path) -> None:
    assert found(three_hours) == [
        (50, "ends", [0, 49]),
        (25, "each", list(range(50, 75))),
        (25, "ends", [75, 99]),
        (25, "each", list(range(100, 125))),
        (55, "ends", [125, 179]),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False},
        {"dictionary_pagesize_limit": 300},
        {"data_page_version": "2.0", "compression": "zstd"},
        {"column_encoding": {"ts": "DELTA_BINARY_PACKED"}, "use_dictionary": False},
        {"write_page_checksum": True},
        {"write_page_index": True},
    ],
    ids=["plain", "a dictionary for the first pages", "second version", "delta", "checksums", "index"],
)
def test_however_pages_are_written(three_hours: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    assert found(log_of(tmp_path / "b.parquet", list(range(180)), 25, **options)) == found(three_hours)


def test_groups_of_one_bucket_are_one_run(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.parquet", [0, 1, 30, 31, 60, 61, 119, 120, 125, 126], row_group_size=2)
    assert found(log) == [
        (4, "ends", [0, 31]),
        (2, "ends", [60, 61]),
        (2, "each", [119, 120]),
        (2, "ends", [125, 126]),
    ]


def test_groups_in_no_order_have_the_ends_of_them_all(tmp_path: Path) -> None:
    assert found(log_of(tmp_path / "a.parquet", [59, 58, 0, 1], row_group_size=2)) == [(4, "ends", [0, 59])]


@pytest.mark.parametrize(
    "log",
    [
        {"at_minutes": np.random.default_rng(1).permutation(180).tolist()},
        {"at_minutes": list(range(180)), "rows_per_page": 80},
        {"at_minutes": list(range(180)), "write_statistics": False},
        {"at_minutes": list(range(180)), "write_statistics": ["seq"]},
    ],
    ids=["no order", "few pages", "no statistics", "none of times"],
)
def test_all_are_read_where_statistics_spare_too_little(tmp_path: Path, log: dict[str, Any]) -> None:
    assert found(log_of(tmp_path / "a.parquet", **{"rows_per_page": 25, **log})) is None


def test_half_may_be_spared_by_some_groups_alone(tmp_path: Path) -> None:
    """Pages that tell nothing are all read, where the other groups lie in buckets."""
    log = log_of(tmp_path / "a.parquet", [0, 1, 30, 90, 121, 122], row_group_size=2)
    assert found(log) == [(2, "ends", [0, 1]), (2, "each", [30, 90]), (2, "ends", [121, 122])]
    assert found(log, (0, 1)) == [(2, "ends", [0, 1]), (2, "each", [30, 90])]
    assert found(log, (1,)) is None


def test_where_pages_were_looked_at_in_vain_the_footer_decides(three_hours: Path, tmp_path: Path) -> None:
    assert found(three_hours, pages_may_tell=False) is None
    log = log_of(tmp_path / "b.parquet", [0, 1, 30, 90, 121, 122], row_group_size=2)
    assert found(log, pages_may_tell=False) == found(log)


def test_pages_over_the_edge_of_the_window_are_read(three_hours: Path) -> None:
    since = found(three_hours, window=(MAY_US + 10 * MINUTE_US, None))
    assert since is not None
    assert since[:2] == [(25, "each", list(range(25))), (25, "ends", [25, 49])]
    until = found(three_hours, window=(None, MAY_US + 160 * MINUTE_US))
    assert until is not None
    assert until[-3:] == [
        (25, "ends", [125, 149]),
        (25, "each", list(range(150, 175))),
        (5, "each", list(range(175, 180))),
    ]


def test_a_column_in_which_some_are_missing_is_read(tmp_path: Path) -> None:
    times = pa.array([None, *(MAY_US + minute * MINUTE_US for minute in range(179))], pa.timestamp("us"))
    log = parquet(tmp_path / "a.parquet", {"ts": times}, data_page_size=1, write_batch_size=25)
    assert found(log) is None


def test_many_small_pages_are_not_looked_at(three_hours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucketed_times, "LEAST_ROWS_PER_PAGE", 40)
    assert found(three_hours) is None


def test_no_more_times_are_read_from_pages_than_may_be_in_memory(
    three_hours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucketed_times, "MOST_UNREAD", 49)
    assert found(three_hours) is None


@pytest.mark.parametrize(
    "kind", [pa.duration("us"), pa.opaque(pa.int64(), "a", "b")], ids=["duration", "extension"]
)
def test_numbers_that_arrow_reads_as_something_else_are_no_times(tmp_path: Path, kind: pa.DataType) -> None:
    numbers = pa.array([MAY_US + minute * MINUTE_US for minute in range(180)])
    paged = {"data_page_size": 1, "write_batch_size": 25}
    plain = parquet(tmp_path / "plain.parquet", {"ts": numbers}, **paged)
    if isinstance(kind, pa.BaseExtensionType):
        dressed = pa.ExtensionArray.from_storage(kind, numbers)
    else:
        dressed = numbers.cast(kind)
    log = parquet(tmp_path / "dressed.parquet", {"ts": dressed}, **paged)
    assert found(plain) is not None
    assert found(log) is None


def test_an_index_of_no_length_is_passed_over(tmp_path: Path) -> None:
    log = log_of(tmp_path / "a.parquet", list(range(180)), 25, write_page_index=True)
    chunk = footer_of(find_sources([str(log)]).sources[0]).chunks(0)[0]
    assert chunk is not None
    assert chunk.index is not None
    start, length = (whole_of(number) for number in chunk.index)
    place, broken = b"\x16" + start + b"\x15" + length, b"\x16" + start + b"\x15" + whole_of(-5)
    data = log.read_bytes()
    assert data.count(place) == 1
    log.write_bytes(with_footer(data, place, broken))
    assert found(log) is None  # no page tells its times in front of it, where there is an index


def test_a_chunk_that_is_too_large_is_not_held_in_memory(
    three_hours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucketed_times, "LARGEST_CHUNK", 500)
    assert found(three_hours) is None


def test_pages_that_contradict_the_footer_are_all_read(three_hours: Path) -> None:
    data = three_hours.read_bytes()
    statistic = (MAY_US + 24 * MINUTE_US).to_bytes(8, "little")
    assert data.count(statistic) >= 2  # both forms of the largest time of the first page
    three_hours.write_bytes(data.replace(statistic, (MAY_US + 4 * HOUR_US).to_bytes(8, "little")))
    assert found(three_hours) is None


@given(place=st.integers(0), value=st.integers(0, 255), has_index=st.booleans())
def test_damage_is_left_to_the_usual_reader(place: int, value: int, has_index: bool) -> None:
    options: dict[str, Any] = {"use_dictionary": False, "write_page_index": has_index}
    with tempfile.TemporaryDirectory() as folder:
        log = log_of(Path(folder) / "a.parquet", list(range(180)), 25, **options)
        data = bytearray(log.read_bytes())
        footer_bytes = int.from_bytes(data[-8:-4], "little")
        data[place % (len(data) - 8 - footer_bytes)] = value
        log.write_bytes(bytes(data))
        runs = found(log)
    assert runs is None or (sum(run[0] for run in runs) == 180 and min(run[0] for run in runs) > 0)


@pytest.mark.parametrize("counts", [(20, 20), (0, 50), (-5, 55)])
def test_pages_whose_numbers_of_rows_cannot_be_are_all_read(tmp_path: Path, counts: tuple[int, int]) -> None:
    log = log_of(tmp_path / "a.parquet", list(range(180)), 25, use_dictionary=False)
    data = bytearray(log.read_bytes())
    chunk = footer_of(find_sources([str(log)]).sources[0]).chunks(0)[0]
    assert chunk is not None
    pages = pages_of(chunk, bytes(data[chunk.start : chunk.start + chunk.whole(BYTE_COUNT)])).pages
    for page, count in zip(pages[:2], counts, strict=True):
        header = chunk.start + page.start
        place = data.index(whole_of(25), header)
        data[place : place + 1] = whole_of(count)
    log.write_bytes(bytes(data))
    assert found(log) is None
