"""Reads Parquet: only the wanted columns, and of these only the row groups inside the time window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow.parquet as pq

from tuner.logs.block import Block
from tuner.logs.file_start import reading
from tuner.logs.footer import footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.layout import Layout, layout_of_schema, take_column
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted, known_names
from tuner.logs.sources import Source

BATCH_ROWS = 1 << 20
_Parts = tuple[Source, Any, Layout, bytes]
"""A file, its metadata as Arrow has it, its columns, and the bytes of its footer."""


def open_parquet(source: Source) -> LogFile:
    """Raises DamagedFile where the footer cannot be read."""
    with reading(source), _opened(source, None) as file:
        metadata = file.metadata
        layout = layout_of_schema(file.schema_arrow)
        described = file.schema_arrow.metadata or {}
    texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in described.items()}
    groups = metadata.num_row_groups
    unit_bytes = source.byte_count / max(1, groups)
    # Read where the file is opened: times are asked for by a driver that shall not read files.
    footer = footer_of(source)
    file_parts = (source, metadata, layout, footer)
    return LogFile(
        source,
        "parquet",
        layout,
        partial(_pieces, file_parts),
        metadata=texts,
        row_count=metadata.num_rows,
        time_span=partial(_time_span, footer, metadata),
        spans=Spans(groups, unit_bytes, partial(_row_groups, file_parts), are_numbered=True),
    )


def _time_span(footer: bytes, metadata: Any, wanted: Wanted) -> tuple[int, int] | None:
    return GroupTimes(footer, metadata, wanted).span()


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


def _row_groups(file: _Parts, wanted: Wanted, start: int, end: int) -> RowGroups:
    return RowGroups(partial(_pieces, file, wanted, (start, end)))


def _pieces(file: _Parts, wanted: Wanted, span: tuple[int, int] | None = None) -> Iterator[Piece]:
    source, metadata, layout, footer = file
    start, end = span or (0, metadata.num_row_groups)
    times = GroupTimes(footer, metadata, wanted)
    first_row = 0
    for group in range(end):
        details = metadata.row_group(group)
        if details.num_rows and group >= start:
            if times.is_outside(group):
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
