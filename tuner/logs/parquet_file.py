"""Reads Parquet: only the wanted columns, and of these only the row groups inside the time window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tuner.errors import DamagedFile
from tuner.logs.block import Block
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


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of a file since it was opened: Arrow's metadata and schema, its columns, its footer."""

    source: Source
    metadata: Any
    schema: pa.Schema
    layout: Layout
    footer: Footer

    def times(self, wanted: Wanted) -> GroupTimes:
        return GroupTimes(self.footer, self.metadata, self._type(wanted.time), wanted)

    def _type(self, name: str | None) -> pa.DataType:
        """What Arrow reads a column as; null where there is none of this name, or more than one."""
        inside: Any = self.schema
        place = self.layout.get(str(name))
        for key in place.keys if place else ("",):
            places = inside.get_all_field_indices(key)
            if len(places) != 1:
                return pa.null()
            inside = inside.field(places[0]).type
        return inside

    def has_several(self, name: str) -> bool:
        return len(self.schema.get_all_field_indices(self.layout[name].keys[0])) > 1

    def flat_columns(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of these columns among the leaves, as far as they have one value a row."""
        paths = {".".join(self.layout[name].keys) for name in names}
        leaves = [self.metadata.schema.column(i) for i in range(len(self.metadata.schema))]
        flat = (leaf.path in paths and not leaf.max_repetition_level for leaf in leaves)
        return tuple(i for i, is_flat in enumerate(flat) if is_flat)

    def are_as_long(self, columns: Sequence[int], groups: Sequence[int]) -> bool:
        """Whether each of these leaves has a value for every row, as far as the footer tells."""
        row_groups = [self.metadata.row_group(group) for group in groups]
        return all(group.column(i).num_values == group.num_rows for group in row_groups for i in columns)


def open_parquet(source: Source) -> LogFile:
    """Raises DamagedFile where the footer cannot be read."""
    with reading(source), _opened(source, None) as file:
        metadata = file.metadata
        schema = file.schema_arrow
        layout = layout_of_schema(schema)
    described = schema.metadata or {}
    texts = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in described.items()}
    groups = metadata.num_row_groups
    unit_bytes = source.byte_count / max(1, groups)
    # Its footer is read where the file is opened: times are asked for by a driver that shall not read files.
    opened = _File(source, metadata, schema, layout, footer_of(source))
    return LogFile(
        source,
        "parquet",
        layout,
        partial(_pieces, opened),
        metadata=texts,
        row_count=metadata.num_rows,
        time_span=partial(_time_span, opened),
        spans=Spans(groups, unit_bytes, partial(_row_groups, opened), are_numbered=True),
    )


def _time_span(file: _File, wanted: Wanted) -> tuple[int, int] | None:
    return file.times(wanted).span()


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


def _row_groups(file: _File, wanted: Wanted, start: int, end: int) -> RowGroups:
    return RowGroups(partial(_pieces, file, wanted, (start, end)))


@dataclass(slots=True)
class _InVain:
    """Pieces of a file so far: those that were read a second time, and those whose pages told too little."""

    read_again: int = 0
    looked_at: int = 0


def _pieces(file: _File, wanted: Wanted, span: tuple[int, int] | None = None) -> Iterator[Piece]:
    times, in_vain = file.times(wanted), _InVain()
    flat = file.flat_columns(known_names(wanted.names, file.layout)) if wanted.bucket_us else ()
    for stretch in stretches(file.metadata, times, span or (0, file.metadata.num_row_groups)):
        if stretch.is_outside:
            yield partial(_skipped, stretch)
        elif not wanted.bucket_us or in_vain.read_again >= MOST_IN_VAIN:
            yield partial(_blocks, file, wanted, stretch)
        else:
            are_as_long = file.are_as_long(flat, stretch.groups)
            # Arrow compares the lengths of columns that it reads together, and the times are none of these.
            bucketed = partial(_bucketed, file, wanted, stretch, times, in_vain)
            yield bucketed if are_as_long else partial(_blocks, file, wanted, stretch)


def _skipped(stretch: Stretch) -> Iterator[Block]:
    yield Block({}, stretch.row_count, stretch.first_row, is_outside_window=True)


def _bucketed(
    file: _File, wanted: Wanted, stretch: Stretch, times: GroupTimes, in_vain: _InVain
) -> Iterator[Block]:
    """The rows of a stretch without the times that need not be read; blocks end where their times do."""
    row_counts = [(group, file.metadata.row_group(group).num_rows) for group in stretch.groups]
    pages_may_tell = in_vain.looked_at < MOST_IN_VAIN
    columns = bucketed_times(file.source, times, row_counts, pages_may_tell=pages_may_tell)
    if columns is None:
        in_vain.looked_at += pages_may_tell
        yield from _blocks(file, wanted, stretch)
        return

    def exact() -> Iterator[Block]:
        in_vain.read_again += 1
        return _blocks(file, wanted, stretch)

    yield from _with_times(file, wanted, stretch, columns, exact)


def _with_times(
    file: _File, wanted: Wanted, stretch: Stretch, columns: Sequence[Any], exact: Piece
) -> Iterator[Block]:
    untimed = replace(wanted, names=tuple(name for name in wanted.names if name != wanted.time))
    left = deque(columns)
    for block in _blocks(file, untimed, stretch):
        at = 0
        while at < block.row_count:
            if not left:
                raise _of_other_length(file.source)
            here, rest = _cut(left.popleft(), block.row_count - at)
            if rest is not None:
                left.appendleft(rest)
            yield _part(block, at, str(wanted.time), here, exact)
            at += len(here)
    if left:
        raise _of_other_length(file.source)


def _of_other_length(source: Source) -> DamagedFile:
    return DamagedFile(source.name, "cannot be read (columns do not have the same size)")


def _part(block: Block, at: int, name: str, times: Any, exact: Piece) -> Block:
    """The rows of a block from one on, as many as there are times, which become the column of this name."""
    row_count = len(times)
    columns = {known: values.slice(at, row_count) for known, values in block.columns.items()}
    byte_count = round(block.byte_count * row_count / block.row_count)
    return Block(
        {**columns, name: times}, row_count, block.first_row + at, byte_count=byte_count, exact=exact
    )


def _cut(column: Any, row_count: int) -> tuple[Any, Any]:
    """The first rows of a column of times, no more than so many, and the rest if there is one."""
    if len(column) <= row_count:
        return column, None
    return column.slice(0, row_count), column.slice(row_count)


def _blocks(file: _File, wanted: Wanted, stretch: Stretch) -> Iterator[Block]:
    names = known_names(wanted.names, file.layout)
    if not names:
        yield Block({}, stretch.row_count, stretch.first_row)
        return
    for name in names:
        if file.has_several(name):
            raise DamagedFile(file.source.name, f"cannot be read (it has several columns '{name}')")
    with reading(file.source), _opened(file.source, file.metadata) as opened:
        paths = [".".join(file.layout[name].keys) for name in names]
        batches = opened.iter_batches(BATCH_ROWS, row_groups=stretch.groups, columns=paths, use_threads=False)
        bytes_per_row = _bytes_per_row(file.source, file.metadata)
        first_row = stretch.first_row
        for batch in batches:
            taken = {name: take_column(batch, file.layout[name].keys) for name in names}
            yield Block(taken, batch.num_rows, first_row, byte_count=round(batch.num_rows * bytes_per_row))
            first_row += batch.num_rows
    if first_row != stretch.first_row + stretch.row_count:
        raise _of_other_length(file.source)


def _bytes_per_row(source: Source, metadata: Any) -> float:
    return float(source.byte_count / max(1, metadata.num_rows))
