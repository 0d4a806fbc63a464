"""Reads Parquet: only the wanted columns, and of these only the row groups inside the time window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tuner.logs.block import Block, Ends
from tuner.logs.file_start import reading
from tuner.logs.footer import Footer, footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.layout import Layout, layout_of_schema, take_column
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted, known_names
from tuner.logs.sources import Source
from tuner.logs.stretches import BATCH_ROWS, Stretch, stretches

MOST_READ_AGAIN = 2
"""Pieces of a file that are read a second time for their times; then times are read at once."""

_Parts = tuple[Source, Any, Layout, Footer]
"""A file, its metadata as Arrow has it, its columns, and its footer."""


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


def _time_span(footer: Footer, metadata: Any, wanted: Wanted) -> tuple[int, int] | None:
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
    times = GroupTimes(footer, metadata, wanted)
    read_again: list[Stretch] = []
    for stretch in stretches(metadata, times, span or (0, metadata.num_row_groups)):
        blocks = partial(_blocks, (source, metadata, layout), wanted, stretch)
        if stretch.is_outside:
            yield partial(_skipped, stretch)
        elif stretch.bucket is None or len(read_again) >= MOST_READ_AGAIN:
            yield blocks
        else:
            yield partial(blocks, times.ends(stretch.groups), partial(_again, blocks, read_again, stretch))


def _again(blocks: Piece, read_again: list[Stretch], stretch: Stretch) -> Iterator[Block]:
    read_again.append(stretch)
    return blocks()


def _skipped(stretch: Stretch) -> Iterator[Block]:
    yield Block({}, stretch.row_count, stretch.first_row, is_outside_window=True)


def _blocks(
    file: tuple[Source, Any, Layout],
    wanted: Wanted,
    stretch: Stretch,
    ends: pa.Array | None = None,
    exact: Piece | None = None,
) -> Iterator[Block]:
    """The rows of a stretch; where the two `ends` of their times are given, no more is read of these."""
    source, metadata, layout = file
    names = known_names(wanted.names, layout)
    if ends is not None:
        names.remove(str(wanted.time))
    if not names:
        columns = {} if ends is None else {str(wanted.time): Ends(ends, stretch.row_count)}
        yield Block(columns, stretch.row_count, stretch.first_row, exact=exact)
        return
    with reading(source), _opened(source, metadata) as opened:
        paths = [".".join(layout[name].keys) for name in names]
        batches = opened.iter_batches(BATCH_ROWS, row_groups=stretch.groups, columns=paths, use_threads=False)
        bytes_per_row = _bytes_per_row(source, metadata)
        first_row = stretch.first_row
        for batch in batches:
            taken = {name: take_column(batch, layout[name].keys) for name in names}
            if ends is not None:
                taken[str(wanted.time)] = Ends(ends, batch.num_rows)
            byte_count = round(batch.num_rows * bytes_per_row)
            yield Block(taken, batch.num_rows, first_row, byte_count=byte_count, exact=exact)
            first_row += batch.num_rows


def _bytes_per_row(source: Source, metadata: Any) -> float:
    return float(source.byte_count / max(1, metadata.num_rows))
