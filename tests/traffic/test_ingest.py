"""Counting by what a footer tells of times is counting by the times themselves."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.logs.log_files import parquet
from tuner.logs import bucketed_times
from tuner.logs.clean import Rules
from tuner.logs.columns import answer, ask
from tuner.logs.opening import open_log
from tuner.logs.sources import find_sources
from tuner.settings import LogSettings
from tuner.traffic.counted import Counted, FileRows
from tuner.traffic.ingest import Task, count_piece
from tuner.traffic.runnable import Runnable
from tuner.traffic.tally import WIDTHS_US, Tally

MINUTES = WIDTHS_US.index(60_000_000)
MAY_S = 1_714_521_600
AXES = ("batch", "seq")

SECONDS = st.integers(0, 150)
"""After a moment."""
fine_rows = st.tuples(SECONDS, st.sampled_from([1, 2, 4]), st.integers(1, 3))
# Few of these are wrong, so that some pieces are fine and others are not.
other_rows = st.one_of(
    *[fine_rows] * 12,
    st.tuples(st.none(), st.just(1), st.just(1)),
    st.tuples(SECONDS, st.just(0), st.just(1)),
    st.tuples(SECONDS, st.just(1), st.none()),
)
dresses = st.sampled_from(
    [pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("ns"), pa.int64(), pa.int32(), pa.float64()]
)


def task_of(log: Path, window: tuple[int | None, int | None]) -> tuple[Any, Task]:
    file = open_log(find_sources([str(log)]).sources[0])
    question = ask(LogSettings(logs=(str(log),)), None, [file.layout])
    counting = FileRows("a", "a", Runnable(None, AXES), window)
    return file, Task(answer(question, file.layout), Rules(AXES), counting, MINUTES)


def counted(file: Any, task: Task, bucket_us: int | None) -> Counted:
    wanted = task.wanted if bucket_us is None else replace(task.wanted, bucket_us=bucket_us)
    total = Counted(Tally(AXES, task.level))
    for piece in file.pieces(wanted):
        total.merge(count_piece(piece, task, task.level))
    return total


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(st.lists(rows, min_size=1, max_size=80) for rows in (fine_rows, other_rows)),
    st.tuples(st.one_of(st.integers(1, 5), st.integers(6, 80)), st.integers(1, 12)),
    dresses,
    st.booleans(),
    st.tuples(*[st.one_of(st.none(), st.integers(10, 140))] * 2),
)
def test_bucketed_times_count_like_the_times_of_all_rows(
    found: list[tuple[int | None, int, int | None]],
    group_and_page_rows: tuple[int, int],
    dress: pa.DataType,
    is_in_order: bool,
    seconds: tuple[int | None, int | None],
) -> None:
    if is_in_order:
        found = sorted(found, key=lambda row: row[0] or 0)
    scale = {"ms": 10**3, "ns": 10**9}.get(getattr(dress, "unit", "s"), 1)
    times = pa.array([None if row[0] is None else (MAY_S + row[0]) * scale for row in found])
    columns = {
        "ts": times.cast(pa.int64()).cast(dress),
        "batch": [row[1] for row in found],
        "seq": pa.array([row[2] for row in found], pa.int64()),
    }
    since, until = (None if s is None else (MAY_S + s) * 1_000_000 for s in seconds)
    with tempfile.TemporaryDirectory() as folder:
        group_rows, page_rows = group_and_page_rows
        paged = {"data_page_size": 1, "write_batch_size": page_rows, "write_page_index": page_rows % 2 == 0}
        log = parquet(Path(folder) / "a.parquet", columns, row_group_size=group_rows, **paged)
        file, task = task_of(log, (since, until))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bucketed_times, "LEAST_ROWS_PER_PAGE", 1)
            by_footer, by_rows = counted(file, task, None), counted(file, task, 0)
    one, other = by_footer.tally.cells(), by_rows.tally.cells()
    assert np.array_equal(one.starts_us, other.starts_us)
    assert np.array_equal(one.sizes, other.sizes)
    assert np.array_equal(one.counts, other.counts)
    left = {"tally", "byte_count"}
    fields = [name for name in Counted.__dataclass_fields__ if name not in left]
    assert {n: getattr(by_footer, n) for n in fields} == {n: getattr(by_rows, n) for n in fields}
