"""Pages of a column: what their headers say, and that any of them can be unpacked without the others."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logs.test_footer import source_of, written
from tuner.logs.footer import BROKEN, BYTE_COUNT, Bounds, footer_of
from tuner.logs.pages import ChunkPages, pages_of

FORMS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "plain, no codec": {"use_dictionary": False, "compression": "none"},
    "dictionary that is given up": {"dictionary_pagesize_limit": 100},
    "delta": {"use_dictionary": False, "column_encoding": {"ts": "DELTA_BINARY_PACKED"}},
    "split": {"use_dictionary": False, "column_encoding": {"ts": "BYTE_STREAM_SPLIT"}},
    "second version": {"data_page_version": "2.0", "compression": "zstd"},
    "index": {"write_page_index": True},
    "checksums": {"write_page_checksum": True, "compression": "gzip"},
}


def chunk_pages(column: pa.Array, rows_per_page: int, **options: Any) -> ChunkPages:
    data = written(
        {"before": pa.array(["x"] * len(column)), "ts": column, "after": pa.array([[1]] * len(column))},
        data_page_size=1,
        write_batch_size=rows_per_page,
        **options,
    )
    (chunk,) = footer_of(source_of(data)).chunks(1)
    assert chunk is not None
    metadata = pq.read_metadata(io.BytesIO(data)).row_group(0).column(1)
    first = metadata.dictionary_page_offset if metadata.has_dictionary_page else metadata.data_page_offset
    assert (chunk.start, chunk.whole(BYTE_COUNT)) == (first, metadata.total_compressed_size)
    index = b"" if chunk.index is None else data[chunk.index[0] : sum(chunk.index)]
    assert bool(index) == options.get("write_page_index", False)
    return pages_of(chunk, data[chunk.start : chunk.start + chunk.whole(BYTE_COUNT)], index)


@settings(deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), st.integers(0, 2**31 - 1)), min_size=1, max_size=60),
    kind=st.sampled_from([pa.int32(), pa.int64(), pa.timestamp("us", "UTC")]),
    rows_per_page=st.integers(1, 20),
    form=st.sampled_from(sorted(FORMS)),
    draw=st.integers(0, 2**32),
)
def test_some_pages_hold_the_values_of_their_rows(
    values: list[int | None], kind: pa.DataType, rows_per_page: int, form: str, draw: int
) -> None:
    found = chunk_pages(pa.array(values, pa.int64()).cast(kind), rows_per_page, **FORMS[form])
    ends = np.cumsum([page.row_count for page in found.pages]).tolist()
    assert ends[-1] == len(values)
    starts = [0, *ends[:-1]]
    for page, start, end in zip(found.pages, starts, ends, strict=True):
        here = [value for value in values[start:end] if value is not None]
        nulls = None if form == "index" else end - start - len(here)
        assert page.bounds == (Bounds(min(here), max(here), nulls) if here else None)
    chosen = sorted(Random(draw).sample(range(len(ends)), Random(draw).randint(1, len(ends))))
    read = found.values([found.pages[i] for i in chosen], is_optional=True)
    assert read.to_pylist() == [value for i in chosen for value in values[starts[i] : ends[i]]]


def test_a_column_that_is_never_null_is_read_as_such() -> None:
    schema = pa.schema([pa.field("ts", pa.int64(), nullable=False)])
    stream = io.BytesIO()
    table = pa.table({"ts": pa.array(range(100))}, schema=schema)
    pq.write_table(table, stream, data_page_size=1, write_batch_size=10, use_dictionary=False)
    data = stream.getvalue()
    (chunk,) = footer_of(source_of(data)).chunks(0)
    assert chunk is not None
    found = pages_of(chunk, data[chunk.start : chunk.start + chunk.whole(BYTE_COUNT)])
    assert found.values(found.pages[3:5], is_optional=False).to_pylist() == list(range(30, 50))


def test_pages_without_statistics_have_no_bounds() -> None:
    found = chunk_pages(pa.array(range(40)), 10, write_statistics=False)
    assert [page.bounds for page in found.pages] == [None] * 4


def test_a_checksum_that_is_wrong_is_told() -> None:
    found = chunk_pages(pa.array(range(40)), 10, write_page_checksum=True, use_dictionary=False)
    data = bytearray(found.data)
    data[found.pages[2].end - 1] ^= 1
    changed = ChunkPages(found.chunk, bytes(data), found.pages, found.dictionary)
    assert changed.values(found.pages[:2], is_optional=True).to_pylist() == list(range(20))
    with pytest.raises(OSError, match="CRC"):
        changed.values(found.pages[1:3], is_optional=True)


def test_an_index_of_other_pages_is_told() -> None:
    one, other = (chunk_pages(pa.array(range(n)), 10, write_page_index=True) for n in (40, 50))
    assert [page.bounds for page in one.pages] == [Bounds(n, n + 9, None) for n in range(0, 40, 10)]
    data = written({"ts": pa.array(range(50))}, data_page_size=1, write_batch_size=10, write_page_index=True)
    (chunk,) = footer_of(source_of(data)).chunks(0)
    assert chunk is not None
    assert chunk.index is not None
    index = data[chunk.index[0] : sum(chunk.index)]
    assert pages_of(other.chunk, other.data, index).pages == other.pages
    with pytest.raises(BROKEN):
        pages_of(one.chunk, one.data, index)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-3], lambda data: b"\xff" * len(data), lambda data: data + b"\x15\x00\x15"],
    ids=["cut", "overwritten", "more behind it"],
)
def test_bytes_that_are_no_pages_are_told(damage: Callable[[bytes], bytes]) -> None:
    found = chunk_pages(pa.array(range(40)), 10)
    with pytest.raises(BROKEN):
        pages_of(found.chunk, damage(found.data))
