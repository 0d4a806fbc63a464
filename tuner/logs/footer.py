"""Statistics of one column in a Parquet file's footer, which is Thrift's compact protocol.

Arrow shows them too, but ends the process, rather than raise, where damage made them wrong. Sources:
apache/thrift, doc/specs/thrift-compact-protocol.md, and apache/parquet-format, parquet.thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tuner.logs.file_start import reading
from tuner.logs.sources import Source

_BINARY, _STRUCT = 8, 12
_VARINTS, _LISTS = (4, 5, 6), (9, 10)
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}
"""Bytes of the values of a type; Parquet's footers hold no maps."""
_ROW_GROUPS, _COLUMNS, _META_DATA, _TYPE, _STATISTICS = 4, 1, 3, 1, 12
_NULL_COUNT, _LARGEST, _LEAST = 3, (5, 1), (6, 2)
_TAIL_BYTES = 64 << 10
_LENGTH_BYTES = 8
"""What stands behind a footer: its length in four bytes, and the four letters of the form."""
_FORMATS = {1: "<i", 2: "<q", 4: "<f", 5: "<d"}
"""Physical types that are numbers, as `struct` reads them."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least and largest value of a column in a row group, as stored; `null_count` is None where not told."""

    least: float
    largest: float
    null_count: int | None


class Footer:
    """A footer's bytes; what it says of a column is worked out once."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._known: dict[int, list[Bounds | None]] = {}

    def bounds(self, column: int) -> list[Bounds | None]:
        """For each row group, the bounds of the leaf column at this place; None where they are not there.

        Empty where the footer cannot be followed.
        """
        if column not in self._known:
            try:
                self._known[column] = _row_groups(_Compact(self._content, 0), column)
            except (IndexError, ValueError, struct.error, RecursionError):
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


def _row_groups(footer: _Compact, column: int) -> list[Bounds | None]:
    found: list[Bounds | None] = []
    for number, kind in footer.fields():
        if number == _ROW_GROUPS:
            found = [_row_group(footer, column) for _ in range(footer.list_length())]
        else:
            footer.skip(kind)
    return found


def _row_group(footer: _Compact, column: int) -> Bounds | None:
    found = None
    for number, kind in footer.fields():
        if number != _COLUMNS:
            footer.skip(kind)
            continue
        for place in range(footer.list_length()):
            if place == column:
                found = _chunk(footer)
            else:
                footer.skip(_STRUCT)
    return found


def _chunk(footer: _Compact) -> Bounds | None:
    found = None
    for number, kind in footer.fields():
        if number == _META_DATA:
            found = _description(footer)
        else:
            footer.skip(kind)
    return found


def _description(footer: _Compact) -> Bounds | None:
    physical, statistics = 0, None
    for number, kind in footer.fields():
        if number == _TYPE:
            physical = footer.whole()
        elif number == _STATISTICS:
            statistics = _statistics(footer)
        else:
            footer.skip(kind)
    form = _FORMATS.get(physical)
    if form is None or statistics is None:
        return None
    least, largest = (
        next((statistics[n] for n in ids if n in statistics), None) for ids in (_LEAST, _LARGEST)
    )
    if not isinstance(least, bytes) or not isinstance(largest, bytes):
        return None
    bounds = struct.unpack(form, least)[0], struct.unpack(form, largest)[0]
    return Bounds(*bounds, statistics.get(_NULL_COUNT)) if bounds[0] <= bounds[1] else None


def _statistics(footer: _Compact) -> dict[int, Any]:
    values: dict[int, Any] = {}
    for number, kind in footer.fields():
        if kind == _BINARY:
            values[number] = footer.binary()
        elif kind in _VARINTS:
            values[number] = footer.whole()
        else:
            footer.skip(kind)
    return values


class _Compact:
    """Goes through bytes of the compact protocol. IndexError or ValueError where they are none."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of each field of a struct; the value is for the caller to take or skip."""
        number = 0
        while head := self._byte():
            step = head >> 4
            number = number + step if step else self.whole()
            yield number, head & 15

    def list_length(self) -> int:
        length = self._byte() >> 4
        return length if length < 15 else self._varint()

    def whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        length = self._varint()
        self._at += length
        return self._data[self._at - length : self._at]

    def skip(self, kind: int) -> None:
        self._at = _after(self._data, self._at, kind)

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value, self._at = _varint(self._data, self._at)
        return value


def _after(data: bytes, at: int, kind: int) -> int:
    """The position behind a value. The time goes here, where a footer describes thousands of columns."""
    if kind in _VARINTS:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == _STRUCT:
        while head := data[at]:
            at = _after(data, at + 1 if head > 15 else _after(data, at + 1, _VARINTS[0]), head & 15)
        return at + 1
    if kind == _BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in _LISTS:
        return _after_list(data, at)
    if kind not in _SIZES:
        raise ValueError(f"no type {kind}")
    return at + _SIZES[kind]


def _after_list(data: bytes, at: int) -> int:
    length, kind = data[at] >> 4, data[at] & 15
    length, at = (length, at + 1) if length < 15 else _varint(data, at + 1)
    if kind in _SIZES:
        return at + length * max(1, _SIZES[kind])
    for _ in range(length):
        at = _after(data, at, kind)
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
    return value | byte << shift, at + 1
