"""What a reader of one form offers: the file's columns, and its rows in pieces to be read side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tuner.errors import TunerError
from tuner.logs.block import Block
from tuner.logs.layout import Layout
from tuner.logs.sources import Source


class Refused(TunerError):
    """A fast reader met what it does not read; the careful one has to start over."""


Piece = Callable[[], Iterator[Block]]
"""Reads its part of the file; pieces of one file may run in different threads."""

TimeWindow = tuple[int | None, int | None]
"""Microseconds since the epoch, from (included) and until (left out); None is open."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns to read; `time` is among them, and rows outside the window may be skipped unread.

    `sizes` are those of them that are read as sizes and nothing else, so that only whole numbers count.
    Where `bucket_us` is above 0, times need only be known to the bucket of that width, with the first and the
    last of a block.
    """

    names: tuple[str, ...]
    time: str | None = None
    time_unit: str | None = None
    window: TimeWindow = (None, None)
    sizes: tuple[str, ...] = ()
    bucket_us: int = 0


class SpanPieces(Protocol):
    """The pieces of a span; once they were all given, `row_count` is what they move later row numbers by."""

    @property
    def row_count(self) -> int: ...

    def __iter__(self) -> Iterator[Piece]: ...


@dataclass(frozen=True, slots=True)
class Spans:
    """A file cut into `count` units of about `unit_bytes`, so that several machines can read it at once.

    `pieces` reads the units from a start up to an end, with the very rows that the file has when it is read
    as a whole. Where `are_numbered`, blocks know their rows' numbers in the file; else numbers start from 0
    in each span.
    """

    count: int
    unit_bytes: float
    pieces: Callable[[Wanted, int, int], SpanPieces]
    are_numbered: bool


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file that was recognised. `row_word` is what its rows are called: `row`, or `line` from 1.

    `pieces` raises DamagedFile as soon as a part is found broken; nothing of the file counts then.
    Each of `fast_pieces`, the fastest first, may raise Refused at any point; then the next one has to read
    the file, and `pieces` behind them all. So it has to where row numbers matter and `has_fast_numbers`,
    given the number of rows, says that those of `fast_pieces` are not right.
    `row_count` and `time_span` (first and last microsecond) are known of files with statistics, and guesses
    of long JSON Lines.
    `spans` is None for a file that only one reader can read.
    """

    source: Source
    form: str
    layout: Layout
    pieces: Callable[[Wanted], Iterator[Piece]]
    row_word: str = "row"
    metadata: dict[str, str] | None = None
    fast_pieces: tuple[Callable[[Wanted], Iterator[Piece]], ...] = ()
    has_fast_numbers: Callable[[int], bool] | None = None
    row_count: int | None = None
    time_span: Callable[[Wanted], tuple[int, int] | None] | None = None
    spans: Spans | None = None

    def place(self, row: int) -> str:
        """Where a row is, for people: file and row or line, from 1."""
        return f"{self.source.name}:{self.row_word} {row + 1}"


def known_names(names: Sequence[str], layout: Layout) -> list[str]:
    return [name for name in dict.fromkeys(names) if name in layout]
