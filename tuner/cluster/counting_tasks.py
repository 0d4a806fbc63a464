"""What runs on a worker during ingestion: opens files, counts a unit of them, merges what others counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tuner.errors import DamagedFile
from tuner.logs.block import Block
from tuner.logs.log_file import LogFile, Piece, SpanPieces
from tuner.logs.opening import open_log
from tuner.logs.sources import Source
from tuner.traffic.counted import Counted
from tuner.traffic.ingest import Task, count_file, count_piece
from tuner.traffic.tally import Tally


@dataclass(frozen=True, slots=True)
class Broken:
    """A damaged file as it travels: name and reason. An exception with two arguments cannot."""

    name: str
    why: str

    @classmethod
    def of(cls, error: DamagedFile) -> Broken:
        return cls(error.name, str(error).removeprefix(f"{error.name}: "))

    def error(self) -> DamagedFile:
        return DamagedFile(self.name, self.why)


@dataclass(frozen=True, slots=True)
class Summary:
    """The little that the driver needs of what a task counted.

    `numbered_rows` is what the row numbers of later spans of the file move by.
    """

    byte_count: int = 0
    row_count: int = 0
    numbered_rows: int = 0
    untimed_count: int = 0
    broken: Broken | None = None

    def beyond(self, before: Summary) -> Summary:
        """What this adds to a summary of the same rows: a span may be counted twice."""
        return Summary(self.byte_count - before.byte_count, self.row_count - before.row_count)


Result = tuple[Summary, Counted | None]


def open_each(sources: Sequence[Source]) -> list[LogFile | Broken]:
    opened: list[LogFile | Broken] = []
    for source in sources:
        try:
            opened.append(open_log(source))
        except DamagedFile as error:
            opened.append(Broken.of(error))
    return opened


def count_whole(files: Sequence[tuple[LogFile, Task]]) -> Result:
    """Count files one after the other; of one that breaks on the way nothing counts."""
    first = files[0][1]
    total = Counted(Tally(first.rules.axes, first.level))
    for file, task in files:
        try:
            counted = count_file(file, task, _counted)
        except DamagedFile as error:
            counted = Counted(Tally(task.rules.axes))
            counted.reject_file(error)
        total.merge(counted)
    return Summary(total.byte_count, total.row_count), compacted(total)


def _counted(pieces: Iterable[Piece], task: Task) -> Counted:
    counted = Counted(Tally(task.rules.axes, task.level))
    for piece in pieces:
        counted.merge(count_piece(piece, task, counted.tally.level))
    return counted


def count_span(cut: tuple[LogFile, Task], span: tuple[int, int], first_row: int) -> Result:
    """Count a span of a file, whose rows start at `first_row` where the span itself does not know that."""
    file, task = cut
    pieces = _pieces(file, task, span)
    try:
        counted = _counted(_moved(pieces, first_row), task)
    except DamagedFile as error:
        return Summary(broken=Broken.of(error)), None
    summary = Summary(counted.byte_count, counted.row_count, pieces.row_count, counted.untimed_count)
    return summary, compacted(counted)


def number_span(cut: tuple[LogFile, Task], span: tuple[int, int]) -> Result:
    """Only how many row numbers a span takes; nothing is parsed."""
    pieces = _pieces(*cut, span)
    try:
        for _ in pieces:
            pass
    except DamagedFile as error:
        return Summary(broken=Broken.of(error)), None
    return Summary(numbered_rows=pieces.row_count), None


def _pieces(file: LogFile, task: Task, span: tuple[int, int]) -> SpanPieces:
    assert file.spans is not None  # only such files are cut
    return file.spans.pieces(task.wanted, *span)


def _moved(pieces: Iterable[Piece], rows: int) -> Iterable[Piece]:
    return (partial(_moved_blocks, piece, rows) for piece in pieces) if rows else pieces


def _moved_blocks(piece: Piece, rows: int) -> Iterator[Block]:
    for block in piece():
        numbers = None if block.row_numbers is None else np.asarray(block.row_numbers) + rows
        yield replace(block, first_row=block.first_row + rows, row_numbers=numbers)


def merge_counted(axes: tuple[str, ...], moves: Sequence[int], *parts: Counted) -> Counted:
    """All parts as one, in order; `moves` are rows that the places of a part's rejected rows move by."""
    return compacted(merged(Counted(Tally(axes)), zip(moves, parts, strict=True)))


def merged(total: Counted, parts: Iterable[tuple[int, Counted]]) -> Counted:
    """`total` with all parts in order, each with the rows that its places move by."""
    for rows, part in parts:
        if rows:
            places = part.first_places.items()
            part.first_places = {reason: (name, row + rows, held) for reason, (name, row, held) in places}
        total.merge(part)
    return total


def compacted(counted: Counted) -> Counted:
    """The same with a tally that is small enough to travel."""
    return replace(counted, tally=counted.tally.compacted())
