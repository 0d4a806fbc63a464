"""Reads Parquet: only the wanted columns, and of these only the row groups inside the time window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow.parquet as pq

from tuner.logs.block import Block, Ends
from tuner.logs.bucketed_times import bucketed_times
from tuner.logs.file_start import reading
from tuner.logs.footer import Footer, footer_of
from tuner.logs.group_times import GroupTimes
from tuner.logs.layout import Layout, layout_of_schema, take_column
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted, known_names
from tuner.logs.sources import Source
from tuner.logs.stretches import BATCH_ROWS, Stretch, stretches

MOST_IN_VAIN = 2
"""Pieces of a file that are read a second time for their times, and then times are read at once; also pieces
whose pages are looked at in vain, and then no more of them are.
"""

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


@dataclass(slots=True)
class _InVain:
    """Pieces of a file so far: those that were read a second time, and those whose pages told too little."""

    read_again: int = 0
    looked_at: int = 0


def _pieces(file: _Parts, wanted: Wanted, span: tuple[int, int] | None = None) -> Iterator[Piece]:
    source, metadata, layout, footer = file
    times = GroupTimes(footer, metadata, wanted)
    in_vain = _InVain()
    for stretch in stretches(metadata, times, span or (0, metadata.num_row_groups)):
        blocks = partial(_blocks, (source, metadata, layout), wanted, stretch)
        if stretch.is_outside:
            yield partial(_skipped, stretch)
        elif not wanted.bucket_us or in_vain.read_again >= MOST_IN_VAIN:
            yield blocks
        else:
            yield partial(_bucketed, (source, metadata, layout), wanted, stretch, times, in_vain)


def _skipped(stretch: Stretch) -> Iterator[Block]:
    yield Block({}, stretch.row_count, stretch.first_row, is_outside_window=True)


def _bucketed(
    file: tuple[Source, Any, Layout], wanted: Wanted, stretch: Stretch, times: GroupTimes, in_vain: _InVain
) -> Iterator[Block]:
    """The rows of a stretch without the times that need not be read; blocks end where their times do."""
    source, metadata, _ = file
    row_counts = [(group, metadata.row_group(group).num_rows) for group in stretch.groups]
    pages_may_tell = in_vain.looked_at < MOST_IN_VAIN
    columns = bucketed_times(source, times, row_counts, pages_may_tell=pages_may_tell)
    if columns is None:
        in_vain.looked_at += pages_may_tell
        yield from _blocks(file, wanted, stretch)
        return

    def exact() -> Iterator[Block]:
        in_vain.read_again += 1
        return _blocks(file, wanted, stretch)

    untimed = replace(wanted, names=tuple(name for name in wanted.names if name != wanted.time))
    left = deque(columns)
    for block in _blocks(file, untimed, stretch):
        at = 0
        while at < block.row_count:
            here, rest = _cut(left.popleft(), block.row_count - at)
            if rest is not None:
                left.appendleft(rest)
            yield _part(block, at, {str(wanted.time): here}, exact)
            at += _length(here)


def _part(block: Block, at: int, times: dict[str, Any], exact: Piece) -> Block:
    """The rows of a block from one on, as many as these times."""
    (column,) = times.values()
    row_count = _length(column)
    columns = {name: values.slice(at, row_count) for name, values in block.columns.items()}
    byte_count = round(block.byte_count * (at + row_count) / block.row_count) - round(
        block.byte_count * at / block.row_count
    )
    return Block({**columns, **times}, row_count, block.first_row + at, byte_count=byte_count, exact=exact)


def _length(column: Any) -> int:
    return column.row_count if isinstance(column, Ends) else len(column)


def _cut(column: Any, row_count: int) -> tuple[Any, Any]:
    """The first rows of a column of times, no more than so many, and the rest if there is one."""
    more = _length(column) - row_count
    if more <= 0:
        return column, None
    if isinstance(column, Ends):
        return Ends(column.values, row_count), Ends(column.values, more)
    return column[:row_count], column[row_count:]


def _blocks(file: tuple[Source, Any, Layout], wanted: Wanted, stretch: Stretch) -> Iterator[Block]:
    source, metadata, layout = file
    names = known_names(wanted.names, layout)
    if not names:
        yield Block({}, stretch.row_count, stretch.first_row)
        return
    with reading(source), _opened(source, metadata) as opened:
        paths = [".".join(layout[name].keys) for name in names]
        batches = opened.iter_batches(BATCH_ROWS, row_groups=stretch.groups, columns=paths, use_threads=False)
        bytes_per_row = _bytes_per_row(source, metadata)
        first_row = stretch.first_row
        for batch in batches:
            taken = {name: take_column(batch, layout[name].keys) for name in names}
            yield Block(taken, batch.num_rows, first_row, byte_count=round(batch.num_rows * bytes_per_row))
            first_row += batch.num_rows


def _bytes_per_row(source: Source, metadata: Any) -> float:
    return float(source.byte_count / max(1, metadata.num_rows))
