"""Thrift's compact protocol, as far as Parquet uses it: to go through bytes, and to write a struct.

Source: apache/thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BINARY, LIST, STRUCT = 8, 9, 12
I32, I64 = 5, 6
VARINTS = (4, I32, I64)
_LISTS = (LIST, 10)
_SIZES = {1: 0, 2: 0, 3: 1, 7: 8, 13: 16}
"""Bytes of the values of a type; Parquet holds no maps."""
_LONGEST_SHORT_LIST = 14

Field = tuple[int, int, bytes]
"""Number, type and value of a field, the value as it is written."""


class Compact:
    """Goes through bytes of the compact protocol. IndexError or ValueError where they are none."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def fields(self) -> Iterator[tuple[int, int]]:
        """Number and type of each field of a struct; the value is for the caller to take or skip."""
        number = 0
        while head := self._byte():
            step = head >> 4
            number = number + step if step else self.whole()
            yield number, head & 15

    def list_length(self) -> int:
        length = self._byte() >> 4
        return length if length <= _LONGEST_SHORT_LIST else self._varint()

    def whole(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def binary(self) -> bytes:
        length = self._varint()
        self.at += length
        return self.data[self.at - length : self.at]

    def skip(self, kind: int) -> None:
        self.at = _after(self.data, self.at, kind)

    def raw(self, kind: int) -> bytes:
        """A value as it is written."""
        start = self.at
        self.skip(kind)
        return self.data[start : self.at]

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        value, self.at = _varint(self.data, self.at)
        return value


def _after(data: bytes, at: int, kind: int) -> int:
    """The position behind a value. The time goes here, where a footer describes thousands of columns."""
    if kind in VARINTS:
        while data[at] > 127:
            at += 1
        return at + 1
    if kind == STRUCT:
        while head := data[at]:
            at = _after(data, at + 1 if head > 15 else _after(data, at + 1, I64), head & 15)
        return at + 1
    if kind == BINARY:
        length, at = _varint(data, at)
        return at + length
    if kind in _LISTS:
        return _after_list(data, at)
    if kind not in _SIZES:
        raise ValueError(f"no type {kind}")
    return at + _SIZES[kind]


def _after_list(data: bytes, at: int) -> int:
    length, kind = data[at] >> 4, data[at] & 15
    length, at = (length, at + 1) if length <= _LONGEST_SHORT_LIST else _varint(data, at + 1)
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


def struct_of(fields: Sequence[Field]) -> bytes:
    """A struct of fields, which come in order of their numbers, no more than 15 apart."""
    written, before = bytearray(), 0
    for number, kind, value in fields:
        written.append((number - before) << 4 | kind)
        written += value
        before = number
    return bytes(written) + b"\0"


def list_of_structs(structs: Sequence[bytes]) -> bytes:
    """A list of at most 14 structs."""
    return bytes([len(structs) << 4 | STRUCT]) + b"".join(structs)


def whole_of(value: int) -> bytes:
    return _written_varint(value << 1 ^ value >> 63)


def binary_of(value: bytes) -> bytes:
    return _written_varint(len(value)) + value


def _written_varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])
