"""Reads Parquet: only the wanted columns, and of these only the row groups inside the time window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow.parquet as pq

from tuner.logs.block import Block
from tuner.logs.file_start import reading
from tuner.logs.layout import Layout, layout_of_schema, take_column
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted, known_names
from tuner.logs.sources import Source
from tuner.logs.times import NO_TIME, read_time

BATCH_ROWS = 1 << 20


def open_parquet(source: Source) -> LogFile:
    """Raises DamagedFile where the footer cannot be read."""
    with reading(source), _opened(source, None) as file:
        metadata = file.metadata
        layout = layout_of_schema(file.schema_arrow)
        described = file.schema_arrow.metadata or {}
    texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in described.items()}
    groups = metadata.num_row_groups
    unit_bytes = source.byte_count / max(1, groups)
    return LogFile(
        source,
        "parquet",
        layout,
        partial(_pieces, source, metadata, layout),
        metadata=texts,
        row_count=metadata.num_rows,
        time_span=partial(_time_span, metadata),
        spans=Spans(groups, unit_bytes, partial(_row_groups, (source, metadata, layout)), are_numbered=True),
    )


def _opened(source: Source, metadata: Any) -> Any:
    handle = source.filesystem.open_input_file(source.path)
    try:
        return pq.ParquetFile(
            handle, metadata=metadata, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
        )
    except BaseException:
        handle.close()
        raise


class RowGroups:
    """The pieces of some row groups; the footer knows where their rows are in the file."""

    row_count = 0

    def __init__(self, pieces: Callable[[], Iterator[Piece]]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[Piece]:
        return self._pieces()


def _row_groups(file: tuple[Source, Any, Layout], wanted: Wanted, start: int, end: int) -> RowGroups:
    return RowGroups(partial(_pieces, *file, wanted, (start, end)))


def _pieces(
    source: Source, metadata: Any, layout: Layout, wanted: Wanted, span: tuple[int, int] | None = None
) -> Iterator[Piece]:
    start, end = span or (0, metadata.num_row_groups)
    first_row = 0
    for group in range(end):
        details = metadata.row_group(group)
        if details.num_rows and group >= start:
            if _is_outside(details, wanted):
                yield partial(_skipped, first_row, details.num_rows)
            else:
                yield partial(_group_blocks, source, metadata, layout, (group, first_row, wanted))
        first_row += details.num_rows


def _skipped(first_row: int, row_count: int) -> Iterator[Block]:
    yield Block({}, row_count, first_row, is_outside_window=True)


def _group_blocks(
    source: Source, metadata: Any, layout: Layout, task: tuple[int, int, Wanted]
) -> Iterator[Block]:
    group, first_row, wanted = task
    names = known_names(wanted.names, layout)
    with reading(source), _opened(source, metadata) as file:
        if not names:
            yield Block({}, metadata.row_group(group).num_rows, first_row)
            return
        columns = [".".join(layout[name].keys) for name in names]
        batches = file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False)
        bytes_per_row = _bytes_per_row(source, metadata)
        for batch in batches:
            taken = {name: take_column(batch, layout[name].keys) for name in names}
            yield Block(taken, batch.num_rows, first_row, byte_count=round(batch.num_rows * bytes_per_row))
            first_row += batch.num_rows


def _bytes_per_row(source: Source, metadata: Any) -> float:
    return float(source.byte_count / max(1, metadata.num_rows))


def _is_outside(details: Any, wanted: Wanted) -> bool:
    """Whether the statistics of the time column prove that no row of the group lies in the window."""
    span = None if wanted.window == (None, None) else _group_span(details, wanted)
    if span is None or not span.covers_all:
        return False
    since, until = wanted.window
    return (since is not None and span.last_us < since) or (until is not None and span.first_us >= until)


@dataclass(frozen=True, slots=True)
class _GroupSpan:
    """First and last time in a row group, and whether every row of it has one."""

    first_us: int
    last_us: int
    covers_all: bool


def _group_span(details: Any, wanted: Wanted) -> _GroupSpan | None:
    """From the statistics of the time column; None where they are missing or their unit is in doubt."""
    columns = (details.column(place) for place in range(details.num_columns))
    column = next((column for column in columns if column.path_in_schema == wanted.time), None)
    statistics = None if column is None else column.statistics
    if statistics is None or not statistics.has_min_max:
        return None
    try:
        least, largest = statistics.min, statistics.max
    except UnicodeDecodeError:  # texts of a damaged footer
        return None
    if isinstance(least, (str, bytes)):
        return None
    first, first_unit = read_time(least, wanted.time_unit)
    last, last_unit = read_time(largest, wanted.time_unit)
    if NO_TIME in (first, last) or first_unit != last_unit:
        return None
    return _GroupSpan(first, last, not statistics.null_count)


def _time_span(metadata: Any, wanted: Wanted) -> tuple[int, int] | None:
    groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
    spans = [_group_span(details, wanted) for details in groups if details.num_rows]
    known = [span for span in spans if span is not None]
    if not known or len(known) < len(spans):
        return None
    return min(span.first_us for span in known), max(span.last_us for span in known)
