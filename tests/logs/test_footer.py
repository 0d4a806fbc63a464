"""Statistics in footers: as Arrow shows them, and no end of the process where damage made them wrong."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from random import Random
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from tests.logs.log_files import parquet, read
from tuner.errors import TunerError
from tuner.logs.footer import Bounds, Footer, footer_of
from tuner.logs.sources import Source

FIRST_US = 0x0006_1122_3344_5566


def written(columns: dict[str, Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, **options)
    return stream.getvalue()


def source_of(data: bytes) -> Source:
    """A file in memory."""
    memory, _ = fsspec.core.url_to_fs("memory://a.parquet")
    memory.pipe("/a.parquet", data)
    return Source(fs.PyFileSystem(fs.FSSpecHandler(memory)), "/a.parquet", "a.parquet", len(data), {})


def bounds(footer: Footer, column: int) -> list[Bounds | None]:
    return [None if chunk is None else chunk.bounds for chunk in footer.chunks(column)]


def with_footer(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with a part of its footer replaced, and the length of the footer made right."""
    length = struct.unpack("<I", data[-8:-4])[0]
    body, footer = data[: -8 - length], data[-8 - length : -8]
    assert old in footer
    changed = footer.replace(old, new)
    return body + changed + struct.pack("<I", len(changed)) + b"PAR1"


@given(
    values=st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=40),
    kind=st.sampled_from([pa.int32(), pa.int64(), pa.float64(), pa.timestamp("us"), pa.date32()]),
    group_rows=st.integers(1, 10),
)
def test_the_bounds_are_those_that_arrow_shows(
    values: list[int | None], kind: pa.DataType, group_rows: int
) -> None:
    if pa.types.is_floating(kind):
        column = pa.array([None if v is None else float(v) for v in values], kind)
    else:
        column = pa.array(values, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    others = {"a": pa.array(["x"] * len(values)), "s": pa.array([{"t": [1, 2], "b": True}] * len(values))}
    data = written({**others, "ts": column, "z": column}, row_group_size=group_rows)
    metadata = pq.read_metadata(io.BytesIO(data))
    place = metadata.num_columns - 2

    for group, found in enumerate(bounds(footer_of(source_of(data)), place)):
        here = [v for v in values[group * group_rows : (group + 1) * group_rows] if v is not None]
        assert metadata.row_group(group).column(place).path_in_schema == "ts"
        if here:
            expected = (min(here), max(here), metadata.row_group(group).column(place).statistics.null_count)
            assert found == Bounds(*expected)
        else:
            assert found is None


def test_texts_and_columns_without_statistics_have_no_bounds() -> None:
    assert bounds(footer_of(source_of(written({"ts": ["2024-05-01"]}))), 0) == [None]
    assert bounds(footer_of(source_of(written({"ts": [1]}, write_statistics=False))), 0) == [None]


def test_a_footer_longer_than_the_first_look_is_read_whole() -> None:
    data = written({"ts": list(range(3000)), **{f"c{i}": [0] * 3000 for i in range(3)}}, row_group_size=5)
    assert struct.unpack("<I", data[-8:-4])[0] > 100_000

    assert bounds(footer_of(source_of(data)), 0) == [Bounds(i, i + 4, 0) for i in range(0, 3000, 5)]


@given(st.integers(0, 2**32))
def test_a_damaged_footer_is_followed_or_given_up(seed: int) -> None:
    data = bytearray(written({"ts": [1, 2, 3], "s": pa.array([{"t": [1]}] * 3)}, row_group_size=1))
    random = Random(seed)
    length = struct.unpack("<I", data[-8:-4])[0]
    for _ in range(3):
        data[-9 - random.randrange(length)] = random.randrange(256)

    assert all(b is None or b.least <= b.largest for b in bounds(footer_of(source_of(bytes(data))), 0))


@pytest.mark.parametrize("window", [{}, {"since": "2024-05-01T00:00:00Z"}])
def test_a_statistic_that_is_cut_is_damage_and_does_not_end_the_process(
    tmp_path: Path, window: dict[str, str]
) -> None:
    least = struct.pack("<q", FIRST_US)
    data = written({"seq": [1], "ts": pa.array([FIRST_US], pa.timestamp("us"))})
    log = tmp_path / "cut.parquet"
    log.write_bytes(with_footer(data, b"\x08" + least, b"\x04" + least[:4]))
    whole = parquet(tmp_path / "whole.parquet", {"seq": [7], "ts": pa.array([FIRST_US], pa.timestamp("us"))})

    with pytest.raises(TunerError, match=r"cut\.parquet: cannot be read"):
        read(log, **window)
    if not window:
        beside = read(log, whole)
        assert beside.histogram.sizes.tolist() == [[7]]
        assert beside.rejected_count == 1
