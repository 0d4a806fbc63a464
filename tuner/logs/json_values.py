"""Reads JSON that is no JSON Lines: an array, or values one after another over any number of lines.

The standard decoder takes value after value from a growing window of text, so memory holds a window and not
the file.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from tuner.errors import DamagedFile
from tuner.logs.block import Block
from tuner.logs.file_start import FileStart, plain_bytes
from tuner.logs.layout import Place, layout_of_objects, take_value
from tuner.logs.log_file import LogFile, Piece, Wanted, known_names
from tuner.logs.record_forms import plain_rows
from tuner.logs.sources import Source

_WINDOW_BYTES = 1 << 20
_LONGEST_VALUE = 256 << 20
_BLOCK_ROWS = 20_000
_SAMPLE_ROWS = 1000
_BETWEEN = " \t\r\n"


def open_json_values(source: Source, start: FileStart) -> LogFile:
    """Raises DamagedFile where the text is no JSON."""
    sample = list(islice(plain_rows(_values(source, start)), _SAMPLE_ROWS))
    layout = layout_of_objects(sample)
    return LogFile(source, "json", layout, partial(_pieces, source, start, layout))


def _pieces(source: Source, start: FileStart, layout: dict[str, Place], wanted: Wanted) -> Iterator[Piece]:
    names = known_names(wanted.names, layout)
    yield partial(_blocks, source, start, {name: layout[name] for name in names})


def _blocks(source: Source, start: FileStart, places: dict[str, Place]) -> Iterator[Block]:
    rows = plain_rows(_values(source, start))
    first_row = 0
    byte_count = source.byte_count
    while chunk := list(islice(rows, _BLOCK_ROWS)):
        columns = {name: [take_value(row, place.keys) for row in chunk] for name, place in places.items()}
        damaged = tuple(i for i, row in enumerate(chunk) if not isinstance(row, dict))
        yield Block(columns, len(chunk), first_row, damaged, byte_count)
        first_row += len(chunk)
        byte_count = 0


def _values(source: Source, start: FileStart) -> Iterator[Any]:
    """Every value of the file; the elements, where the file is one array."""
    window = _Window(source, start)
    with plain_bytes(source, start.compression) as stream:
        window.stream = stream
        is_array = start.form == "array"
        if is_array:
            window.skip("[")
        while window.has_more():
            if is_array and window.skip("]"):
                is_array = False
                continue
            yield window.take()
            if is_array and not window.skip(",") and not window.starts_with("]"):
                raise DamagedFile(source.name, "ends inside its array, or has no comma between two elements")
        if is_array:
            raise DamagedFile(source.name, "ends inside its array")


class _Window:
    """Text that was read and not yet decoded."""

    def __init__(self, source: Source, start: FileStart) -> None:
        self.stream: Any = None
        self._name = source.name
        self._text = ""
        self._at = 0
        self._to_text = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._decoder = json.JSONDecoder()
        self._is_at_end = False

    def _grow(self, byte_count: int) -> bool:
        """Read on; False at the end of the file."""
        if self._is_at_end:
            return False
        chunk = self.stream.read(byte_count)
        self._is_at_end = not chunk
        self._text = self._text[self._at :] + self._to_text.decode(chunk, final=not chunk)
        self._at = 0
        return True

    def has_more(self) -> bool:
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BETWEEN:
                self._at += 1
            if self._at < len(self._text):
                return True
            if not self._grow(_WINDOW_BYTES):
                return False

    def starts_with(self, sign: str) -> bool:
        return self.has_more() and self._text[self._at] == sign

    def skip(self, sign: str) -> bool:
        if not self.starts_with(sign):
            return False
        self._at += 1
        return True

    def take(self) -> Any:
        """Decode one value, reading on (twice as much each time) while it is cut by the window's end."""
        step = _WINDOW_BYTES
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or step > _LONGEST_VALUE or not self._grow(step):
                    raise DamagedFile(
                        self._name, "ends inside a JSON value, or holds what is no JSON"
                    ) from None
                step *= 2
                continue
            if end == len(self._text) and self._grow(step):  # a number may go on behind the window
                step *= 2
                continue
            self._at = end
            return value
