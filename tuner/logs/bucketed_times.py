"""Times of row groups, known no better than to the time bucket where that spares unpacking them.

A footer gives the first and the last time of a row group, and many writers keep those of every page, in front
of it or in an index. Times of one bucket need not be read; what is left is read page by page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tuner.logs.block import Ends
from tuner.logs.file_start import reading
from tuner.logs.footer import BROKEN, BYTE_COUNT, Bounds, Chunk
from tuner.logs.group_times import GroupTimes, StoredSpan
from tuner.logs.pages import ChunkPages, Page, pages_of
from tuner.logs.sources import Source

LARGEST_CHUNK = 32 << 20
"""Bytes of a column in a row group up to which its pages are looked at; they are held in memory."""

LEAST_ROWS_PER_PAGE = 2000
"""Rows of a page, on average, from which on looking at its header costs clearly less than unpacking it."""
MOST_UNREAD = 4 << 20
"""Rows whose times are read from pages at once, and so are in memory at once."""

_ODD = (*BROKEN, KeyError, OSError, OverflowError, pa.ArrowException)
"""What a damaged file may lead to here; whether it is damaged is for the usual reader to say."""

_Run = tuple[int, StoredSpan | pa.Array]
"""So many rows, with the bucket that all their times lie in, or with each time."""


class _AllNeeded(Exception):
    """The statistics do not spare enough, or cannot be followed."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group's times: the span of each page's, None where they lie in several buckets or it is not told.

    Without `pages` it is the span of them all.
    """

    spans: tuple[tuple[int, StoredSpan | None], ...]
    pages: ChunkPages | None = None

    @property
    def unread_count(self) -> int:
        return sum(rows for rows, span in self.spans if span is None)


def bucketed_times(
    source: Source, times: GroupTimes, row_counts: Sequence[tuple[int, int]], *, pages_may_tell: bool
) -> list[Ends | pa.Array] | None:
    """The times of some row groups, given with their numbers of rows, in order.

    None where more than half of the rows, or too many, have times that must be read. Unless `pages_may_tell`,
    the footer alone has to show that they are fewer.
    """
    most_unread = min(MOST_UNREAD, sum(rows for _, rows in row_counts) // 2)
    try:
        spans = [(group, rows, _span_of(times, group)) for group, rows in row_counts]
        if not pages_may_tell and sum(rows for _, rows, span in spans if span is None) > most_unread:
            return None
        with reading(source), source.filesystem.open_input_file(source.path) as file:
            groups = [
                _paged(file, times, group, rows) if span is None else _Group(((rows, span),))
                for group, rows, span in spans
            ]
        if sum(group.unread_count for group in groups) > most_unread:
            return None
        runs = list(_joined(run for group in groups for run in _runs(times, group)))
    except _AllNeeded:
        return None
    return [_column(times, *run) for run in runs]


def _column(times: GroupTimes, row_count: int, span: StoredSpan | pa.Array) -> Ends | pa.Array:
    if isinstance(span, StoredSpan):
        return Ends(times.as_times(pa.array([span.least, span.largest], pa.int64())), row_count)
    return times.as_times(span)


def _joined(runs: Iterator[_Run]) -> Iterator[_Run]:
    """Rows of one bucket that follow one another are one run."""
    before: _Run | None = None
    for rows, span in runs:
        joined = None if before is None else _both(before[1], span)
        if before is not None and joined is not None:
            before = before[0] + rows, joined
            continue
        if before is not None:
            yield before
        before = rows, span
    if before is not None:
        yield before


def _both(before: StoredSpan | pa.Array, after: StoredSpan | pa.Array) -> StoredSpan | None:
    """The span of two runs of one bucket."""
    if not isinstance(before, StoredSpan) or not isinstance(after, StoredSpan):
        return None
    if before.bucket != after.bucket:
        return None
    return StoredSpan(before.bucket, min(before.least, after.least), max(before.largest, after.largest))


def _bounds(times: GroupTimes, group: int) -> tuple[Chunk, Bounds]:
    chunk = times.chunk(group)
    if chunk is None or chunk.bounds is None:
        raise _AllNeeded
    return chunk, chunk.bounds


def _span_of(times: GroupTimes, group: int) -> StoredSpan | None:
    return times.in_one_bucket(_bounds(times, group)[1])


def _paged(file: Any, times: GroupTimes, group: int, row_count: int) -> _Group:
    chunk, bounds = _bounds(times, group)
    pages = _pages(file, chunk, 1 + row_count // LEAST_ROWS_PER_PAGE)
    if not _agree(pages.pages, row_count, bounds):
        raise _AllNeeded
    return _Group(tuple((page.row_count, _span_of_page(times, page)) for page in pages.pages), pages)


def _agree(pages: Sequence[Page], row_count: int, whole: Bounds) -> bool:
    """Whether what pages tell of themselves fits what the footer tells of them all."""
    row_counts = [page.row_count for page in pages]
    if sum(row_counts) != row_count or min(row_counts) < 1:
        return False
    told = [page.bounds for page in pages if page.bounds is not None]
    return all(whole.least <= bounds.least and bounds.largest <= whole.largest for bounds in told)


def _pages(file: Any, chunk: Chunk, most_pages: int) -> ChunkPages:
    try:
        byte_count = chunk.whole(BYTE_COUNT)
        if not 0 < byte_count <= LARGEST_CHUNK:
            raise _AllNeeded
        index = b""
        if chunk.index is not None and 0 < chunk.index[1] <= LARGEST_CHUNK:
            start, index_bytes = chunk.index
            index = file.read_at(index_bytes, start)
        return pages_of(chunk, file.read_at(byte_count, chunk.start), index, most_pages)
    except _ODD as error:
        raise _AllNeeded from error


def _span_of_page(times: GroupTimes, page: Page) -> StoredSpan | None:
    bounds = page.bounds
    # No time of the group is missing, so none of the page is.
    return None if bounds is None else times.in_one_bucket(Bounds(bounds.least, bounds.largest, 0))


def _runs(times: GroupTimes, group: _Group) -> Iterator[_Run]:
    values, at = _unread(times, group), 0
    for rows, span in group.spans:
        if span is not None:
            yield rows, span
        else:
            yield rows, values[at : at + rows]
            at += rows


def _unread(times: GroupTimes, group: _Group) -> pa.Array:
    """The times that no span stands for; where anything is odd, the column is left to the usual reader."""
    if group.pages is None or not group.unread_count:
        return None
    if times.may_be_null is None:
        raise _AllNeeded
    wanted = [page for page, (_, span) in zip(group.pages.pages, group.spans, strict=True) if span is None]
    try:
        values = group.pages.values(wanted, times.may_be_null)
    except _ODD as error:
        raise _AllNeeded from error
    if values.null_count or len(values) != group.unread_count:
        raise _AllNeeded
    return values
