"""What a Parquet file's footer says of one column: its statistics, and where its pages are.

Arrow shows statistics too, but ends the process, rather than raise, where damage made them wrong. Source:
apache/parquet-format, parquet.thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.logs.file_start import reading
from tuner.logs.sources import Source
from tuner.logs.thrift_compact import BINARY, STRUCT, VARINTS, Compact

_ROW_GROUPS, _COLUMNS, _META_DATA, _STATISTICS = 4, 1, 3, 12
_INDEX_START, _INDEX_BYTES = 6, 7
TYPE, BYTE_COUNT, FIRST_DATA_PAGE, DICTIONARY_PAGE = 1, 7, 9, 11
"""Fields of a chunk's description: its physical type, and where its bytes are in the file."""
_NULL_COUNT, _LARGEST, _LEAST = 3, (5, 1), (6, 2)
_TAIL_BYTES = 64 << 10
_LENGTH_BYTES = 8
"""What stands behind a footer: its length in four bytes, and the four letters of the form."""
BROKEN = (IndexError, ValueError, struct.error, RecursionError)
"""What following bytes that are damaged may raise."""
_FORMATS = {1: "<i", 2: "<q", 4: "<f", 5: "<d"}
"""Physical types that are numbers, as `struct` reads them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and largest value of a column in some rows, as stored; `null_count` is None where not told."""

    least: float
    largest: float
    null_count: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """The values of one column in one row group.

    `description` holds the fields of Parquet's ColumnMetaData by number, each with its type and as written.
    `index` is the place and the length of the bounds of its pages, where the file keeps them apart.
    """

    description: Mapping[int, tuple[int, bytes]]
    bounds: Bounds | None
    index: tuple[int, int] | None = None

    def whole(self, number: int) -> int:
        """A field that is a whole number, 0 where it is absent."""
        kind, value = self.description.get(number, (0, b""))
        return Compact(value).whole() if kind in VARINTS else 0

    @property
    def start(self) -> int:
        """Place in the file of the first page, which is the dictionary where there is one."""
        dictionary, first = self.whole(DICTIONARY_PAGE), self.whole(FIRST_DATA_PAGE)
        return dictionary if 0 < dictionary < first else first


class Footer:
    """A footer's bytes; what it says of a column is worked out once."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._known: dict[int, list[Chunk | None]] = {}

    def chunks(self, column: int) -> list[Chunk | None]:
        """For each row group, the chunk of the leaf column at this place; None where it is not described.

        Empty where the footer cannot be followed.
        """
        if column not in self._known:
            try:
                self._known[column] = _row_groups(Compact(self._content), column)
            except BROKEN:
                self._known[column] = []
        return self._known[column]


def footer_of(source: Source) -> Footer:
    """A file's footer, without a byte where its end tells no length of it.

    Raises DamagedFile where the file cannot be read.
    """
    with reading(source), source.filesystem.open_input_file(source.path) as file:
        tail = _end(file, source.byte_count, _TAIL_BYTES)
        if len(tail) < _LENGTH_BYTES:
            return Footer(b"")
        length = struct.unpack("<I", tail[-_LENGTH_BYTES:-4])[0] + _LENGTH_BYTES
        if length > len(tail):
            tail = _end(file, source.byte_count, length)
    return Footer(tail[-length:-_LENGTH_BYTES])


def _end(file: Any, byte_count: int, length: int) -> bytes:
    file.seek(max(0, byte_count - length))
    return bytes(file.read(length))


def _row_groups(footer: Compact, column: int) -> list[Chunk | None]:
    found: list[Chunk | None] = []
    for number, kind in footer.fields():
        if number == _ROW_GROUPS:
            found = [_row_group(footer, column) for _ in range(footer.list_length())]
        else:
            footer.skip(kind)
    return found


def _row_group(footer: Compact, column: int) -> Chunk | None:
    found = None
    for number, kind in footer.fields():
        if number != _COLUMNS:
            footer.skip(kind)
            continue
        for place in range(footer.list_length()):
            if place == column:
                found = _chunk(footer)
            else:
                footer.skip(STRUCT)
    return found


def _chunk(footer: Compact) -> Chunk | None:
    description: dict[int, tuple[int, bytes]] | None = None
    index: dict[int, int] = {}
    for number, kind in footer.fields():
        if number == _META_DATA:
            description = {field: (form, footer.raw(form)) for field, form in footer.fields()}
        elif number in (_INDEX_START, _INDEX_BYTES):
            index[number] = footer.whole()
        else:
            footer.skip(kind)
    if description is None:
        return None
    place = (index[_INDEX_START], index[_INDEX_BYTES]) if len(index) == 2 else None
    return Chunk(description, _bounds_of_chunk(description), place)


def _bounds_of_chunk(description: Mapping[int, tuple[int, bytes]]) -> Bounds | None:
    if TYPE not in description or _STATISTICS not in description:
        return None
    physical = Compact(description[TYPE][1]).whole()
    return bounds_of(physical, Compact(description[_STATISTICS][1]))


def bounds_of(physical: int, statistics: Compact) -> Bounds | None:
    """Bounds of a physical type from Parquet's Statistics; None where they are of no use.

    Raises one of `BROKEN` where the bytes are no Statistics.
    """
    values: dict[int, Any] = {}
    for number, kind in statistics.fields():
        if kind == BINARY:
            values[number] = statistics.binary()
        elif kind in VARINTS:
            values[number] = statistics.whole()
        else:
            statistics.skip(kind)
    least, largest = (next((values[n] for n in ids if n in values), None) for ids in (_LEAST, _LARGEST))
    return bounds_between(physical, least, largest, values.get(_NULL_COUNT))


def bounds_between(physical: int, least: Any, largest: Any, null_count: int | None) -> Bounds | None:
    """Bounds of a physical type from its bytes. Raises struct.error where they are of another length."""
    form = _FORMATS.get(physical)
    if form is None or not isinstance(least, bytes) or not isinstance(largest, bytes):
        return None
    bounds = struct.unpack(form, least)[0], struct.unpack(form, largest)[0]
    return Bounds(*bounds, null_count) if bounds[0] <= bounds[1] else None
