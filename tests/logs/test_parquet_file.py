"""Times of row groups that lie in one bucket are not read, and nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.logs.log_files import parquet, read, rejected
from tests.logs.test_footer import with_footer
from tuner.errors import TunerError
from tuner.logs import bucketed_times, parquet_file, stretches
from tuner.logs.block import Ends
from tuner.logs.log_file import Wanted
from tuner.logs.parquet_file import open_parquet
from tuner.logs.sources import find_sources
from tuner.logs.thrift_compact import whole_of
from tuner.traffic.traffic import Traffic

ROWS, GROUP = 1_200_000, 50_000
MAY_S = 1_714_521_600
DAY_S = 86_400
SEQ = np.random.default_rng(3).integers(1, 9, ROWS)


def seconds(*, in_order: bool = True) -> np.ndarray[Any, Any]:
    """A day in steps of two hours, so that some row groups lie in one bucket and some do not."""
    steps = np.sort(np.random.default_rng(5).integers(0, 12, ROWS // GROUP * 2))
    times = MAY_S + np.repeat(steps, GROUP // 2) * 7200
    return times if in_order else np.random.default_rng(7).permutation(times)


DRESSES = {
    "epoch seconds": pa.array(seconds()),
    "epoch seconds in 32 bits": pa.array(seconds().astype(np.int32)),
    "epoch milliseconds": pa.array(seconds() * 1000),
    "floats": pa.array(seconds().astype(np.float64)),
    "with zone": pa.array(seconds() * 1_000_000).cast(pa.timestamp("us", "UTC")),
    "without zone": pa.array(seconds() * 1000).cast(pa.timestamp("ms")),
    "nanoseconds": pa.array(seconds() * 1_000_000_000).cast(pa.timestamp("ns", "Europe/Berlin")),
    "some null": pa.array([None, *seconds()[1:].tolist()], pa.timestamp("s")),
    "in no order": pa.array(seconds(in_order=False)).cast(pa.timestamp("s", "UTC")),
}


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a few rows are worth looking at."""
    monkeypatch.setattr(bucketed_times, "LEAST_ROWS_PER_PAGE", 1)


def both(folder: Path, columns: dict[str, Any], **settings: Any) -> tuple[Traffic, Traffic]:
    """The traffic of a file with statistics, and of one that has none for its times."""
    told = parquet(folder / "told" / "a.parquet", columns, row_group_size=GROUP)
    untold = parquet(folder / "untold" / "a.parquet", columns, row_group_size=GROUP, write_statistics=["seq"])
    return read(told, **settings), read(untold, **settings)


def account(traffic: Traffic) -> tuple[Any, ...]:
    return (
        traffic.start,
        traffic.end,
        traffic.row_count,
        traffic.used_row_count,
        traffic.skipped,
        rejected(traffic),
        [note for note in traffic.notes if "time" in note],
    )


def assert_same(one: Traffic, other: Traffic) -> None:
    assert account(one) == account(other)
    for a, b in ((one.histogram, other.histogram), (one.tune, other.tune), (one.holdout, other.holdout)):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert a.axes == b.axes
            assert np.array_equal(a.sizes, b.sizes)
            assert np.array_equal(a.counts, b.counts)


def test_some_groups_of_these_files_lie_in_one_bucket_and_some_do_not() -> None:
    groups = seconds().reshape(-1, GROUP)
    assert 0 < sum(len(set(group)) == 1 for group in groups) < len(groups)


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_times_of_the_footer_count_like_times_of_the_rows(dress: str, version: str, tmp_path: Path) -> None:
    columns = {"ts": DRESSES[dress], "seq": SEQ}
    if version == "1.0" and dress == "nanoseconds":
        columns["ts"] = columns["ts"].cast(pa.timestamp("us", "Europe/Berlin"))
    told = parquet(tmp_path / "told" / "a.parquet", columns, row_group_size=GROUP, version=version)
    untold = tmp_path / "untold" / "a.parquet"
    parquet(untold, columns, row_group_size=GROUP, version=version, write_statistics=["seq"])
    assert_same(read(told), read(untold))


@pytest.mark.parametrize("writer", ["polars", "duckdb", "arrow", "arrow with an index"])
def test_files_of_other_writers_count_alike(
    writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ts = MAY_S * 1_000_000 + np.sort(np.random.default_rng(9).integers(0, DAY_S * 1_000_000, ROWS))
    rows = pa.table({"ts": pa.array(ts).cast(pa.timestamp("us", "UTC")), "seq": SEQ})
    log = tmp_path / "a.parquet"
    if writer == "polars":
        cast(pl.DataFrame, pl.from_arrow(rows)).write_parquet(log)
    elif writer == "duckdb":
        duckdb.sql(f"copy (select * from rows) to '{log}' (format parquet)")
    else:
        pq.write_table(rows, log, write_page_index=writer != "arrow")
    bucketed = read(log)
    monkeypatch.setattr(parquet_file, "MOST_IN_VAIN", 0)  # all times are read
    assert_same(bucketed, read(log))


def test_a_rejected_row_does_not_lend_its_time_to_the_log(tmp_path: Path) -> None:
    seq = SEQ.copy()
    seq[[0, -1]] = -1  # the rows of the first and of the last time
    ts = pa.array(np.concatenate([[MAY_S], seconds()[1:-1] + 1, [MAY_S + DAY_S - 1]]))
    told, untold = both(tmp_path, {"ts": ts, "seq": seq})
    assert_same(told, untold)
    assert rejected(told) == {"not_positive": 2}
    assert told.start is not None
    assert told.start.timestamp() > MAY_S


def test_a_window_cuts_through_a_group(tmp_path: Path) -> None:
    columns = {"ts": pa.array(seconds()), "seq": SEQ}
    told, untold = both(tmp_path, columns, since="2024-05-01T03:01:07Z", until="2024-05-01T20:31:00Z")
    assert_same(told, untold)
    assert told.used_row_count < ROWS


def test_a_column_that_is_time_and_size_is_read(tmp_path: Path) -> None:
    columns = {"ts": pa.array(seconds()), "n": SEQ}
    told, untold = both(tmp_path, columns, axes={"seq": "ts/100000"}, time="ts")
    assert_same(told, untold)
    assert told.histogram.sizes.tolist() == [[17146], [17147]]


def test_damaged_times_that_need_not_be_read_do_no_harm(tmp_path: Path) -> None:
    ts = MAY_S + np.repeat(np.arange(ROWS // GROUP), GROUP) * 3600
    log = parquet(
        tmp_path / "a.parquet", {"ts": pa.array(ts), "seq": SEQ}, row_group_size=GROUP, use_dictionary=False
    )
    whole = read(log)
    data = bytearray(log.read_bytes())
    metadata = pq.read_metadata(log)
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(0)
        start = chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    log.write_bytes(bytes(data))
    assert_same(read(log), whole)


def test_a_size_column_that_is_too_short_is_damage(tmp_path: Path) -> None:
    """As it is where Arrow reads it together with the times."""
    log = parquet(
        tmp_path / "a.parquet",
        {"ts": pa.array(seconds()), "seq": SEQ},
        row_group_size=GROUP,
        data_page_size=1,
        write_batch_size=1000,
    )
    told = b"\x03seq\x15\x02\x16"  # the path's last name, the codec, the number of values
    data = log.read_bytes()
    assert data.count(told + whole_of(GROUP)) == ROWS // GROUP
    log.write_bytes(with_footer(data, told + whole_of(GROUP), told + whole_of(GROUP // 2)))
    with pytest.raises(TunerError, match="do not have the same size"):
        read(log)


def test_two_columns_of_one_name_are_told(tmp_path: Path) -> None:
    log = tmp_path / "a.parquet"
    names = ["ts", "ts", "seq"]
    pq.write_table(pa.Table.from_arrays([pa.array([MAY_S]), pa.array([1]), pa.array([7])], names=names), log)
    with pytest.raises(TunerError, match=r"a\.parquet: cannot be read \(it has several columns 'ts'\)"):
        read(log)


def test_times_are_read_at_once_where_pieces_have_to_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "BATCH_ROWS", 2)  # each row group is a piece
    ts = pa.array(MAY_S + np.repeat(np.arange(5), 2) * 3600)
    log = parquet(tmp_path / "a.parquet", {"ts": ts, "seq": [1] * 10}, row_group_size=2)
    opened = open_parquet(find_sources([str(log)]).sources[0])
    known_by_ends = []
    for piece in opened.pieces(Wanted(("ts", "seq"), time="ts", bucket_us=3_600_000_000)):
        for block in piece():
            known_by_ends.append(isinstance(block.columns["ts"], Ends))
            if block.exact is not None:
                assert [b.columns["ts"].to_pylist() for b in block.exact()] == [
                    ts[block.first_row : block.first_row + 2].to_pylist()
                ]
    assert known_by_ends == [True, True, False, False, False]


def test_pages_are_no_longer_looked_at_where_they_tell_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "BATCH_ROWS", 20)  # each row group is a piece
    in_order, mixed = np.arange(20) * 600, np.arange(20) * 600
    np.random.default_rng(2).shuffle(mixed)
    ts = MAY_S + np.concatenate([mixed, mixed, in_order, in_order // 10])
    log = parquet(
        tmp_path / "a.parquet",
        {"ts": pa.array(ts), "seq": [1] * len(ts)},
        row_group_size=20,
        data_page_size=1,
        write_batch_size=2,
    )
    wanted = Wanted(("ts", "seq"), time="ts", bucket_us=3_600_000_000)
    opened = open_parquet(find_sources([str(log)]).sources[0])
    known = [any(isinstance(b.columns["ts"], Ends) for b in piece()) for piece in opened.pieces(wanted)]
    assert known == [False, False, False, True]  # the last lies in one hour, as the footer says
    alone = list(opened.pieces(wanted))[2:]
    assert [any(isinstance(b.columns["ts"], Ends) for b in piece()) for piece in alone] == [True, True]


@pytest.mark.parametrize("names", [("ts", "seq"), ("ts",)])
def test_blocks_end_where_their_times_do(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_file, "BATCH_ROWS", 70)  # batches end elsewhere
    minutes = MAY_S + np.arange(180) * 60
    columns = {"ts": pa.array(minutes), "seq": pa.array(np.arange(180))}
    log = parquet(tmp_path / "a.parquet", columns, data_page_size=1, write_batch_size=25)
    opened = open_parquet(find_sources([str(log)]).sources[0])
    (piece,) = opened.pieces(Wanted(names, time="ts", bucket_us=3_600_000_000))
    blocks = list(piece())
    assert sum(block.row_count for block in blocks) == 180
    assert all(block.exact is not None for block in blocks)
    assert {isinstance(block.columns["ts"], Ends) for block in blocks} == {True, False}
    for block in blocks:
        rows = slice(block.first_row, block.first_row + block.row_count)
        if not isinstance(block.columns["ts"], Ends):
            assert block.columns["ts"].to_pylist() == minutes[rows].tolist()
        if "seq" in names:
            assert block.columns["seq"].to_pylist() == list(range(180))[rows]
    if "seq" in names:
        assert abs(sum(block.byte_count for block in blocks) - log.stat().st_size) <= len(blocks)
