"""Reads CSV as texts, so that no value is guessed at; what a text is worth is decided elsewhere."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc_csv
from numpy.typing import NDArray

from tuner.errors import DamagedFile
from tuner.logs.block import Block
from tuner.logs.csv_quotes import check_quotes, refuse_lines
from tuner.logs.file_start import FileStart, plain_bytes, reading
from tuner.logs.layout import Layout, Place
from tuner.logs.log_file import LogFile, Piece, Wanted, known_names
from tuner.logs.sources import Source

_DELIMITERS = ",;\t|"
_BLOCK_BYTES = 8 << 20


def open_csv(source: Source, start: FileStart) -> LogFile:
    """Raises DamagedFile where the first line is no header."""
    line = start.head.lstrip(b"\r\n").splitlines()[0].decode("utf-8", errors="replace")
    delimiter = max(_DELIMITERS, key=line.count)
    header = next(csv.reader([line], delimiter=delimiter))
    layout = {name: Place((name,), "text") for name in header}
    if not all(name.strip() for name in header) and len(header) == 1:
        raise DamagedFile(source.name, "has no header line with column names")
    pieces = partial(_pieces, source, (start.compression, delimiter, header), layout)
    return LogFile(source, "csv", layout, pieces)


def _pieces(
    source: Source, dress: tuple[str | None, str, list[str]], layout: Layout, wanted: Wanted
) -> Iterator[Piece]:
    yield partial(_blocks, source, dress, known_names(wanted.names, layout))


def _blocks(source: Source, dress: tuple[str | None, str, list[str]], names: list[str]) -> Iterator[Block]:
    compression, delimiter, header = dress
    twice = [name for name in names if header.count(name) > 1]
    if twice:
        raise DamagedFile(source.name, f"has two columns named '{twice[0]}'")
    broken: list[int] = []
    with plain_bytes(source, compression) as stream, reading(source):
        text = _ValidText(stream.stream)
        reader = _open(text, delimiter, names or header[:1], broken)
        row, position = 0, 0
        for batch in reader:
            consumed = stream.position() - position
            position += consumed
            for name in names if text.has_quotes else ():
                refuse_lines(source, name, batch.column(name))
            # Arrow counts lines from 1 with the header, and the rows that it skipped are among them.
            numbers = _numbers_around(row, batch.num_rows, [line - 2 for line in broken])
            yield Block(
                {name: batch.column(name) for name in names},
                batch.num_rows,
                row,
                byte_count=consumed,
                row_numbers=numbers,
            )
            row += batch.num_rows
            if broken:
                yield _broken_rows(row, broken)
                row += len(broken)
                broken.clear()
        if broken:
            yield _broken_rows(row, broken)
    if text.has_quotes:
        check_quotes(source, compression, delimiter)


class _ValidText:
    """A stream with what is no UTF-8 replaced: Arrow cannot report a broken row that is no text."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self.has_quotes = False

    def read(self, byte_count: int) -> bytes:
        """At most so many bytes, although a replacement takes three where there was one."""
        chunk = bytes(self._stream.read(max(1, byte_count // 3)))
        self.has_quotes = self.has_quotes or b'"' in chunk
        text = self._decoder.decode(chunk, final=not chunk).encode()
        # Nothing means the end to the reader, but may be the start of a character here.
        return text if text or not chunk else self.read(byte_count)

    def readable(self) -> bool:
        return True

    def close(self) -> None: ...


def _broken_rows(first_row: int, lines: list[int]) -> Block:
    """Rows with too few or too many values."""
    numbers = [line - 2 for line in lines]
    return Block({}, len(lines), first_row, tuple(range(len(lines))), row_numbers=numbers)


def _numbers_around(first_row: int, row_count: int, broken: list[int]) -> NDArray[np.int64] | None:
    """Numbers of a batch's rows where others between them are broken."""
    if not broken:
        return None
    numbers = np.arange(first_row, first_row + row_count + len(broken))
    return np.setdiff1d(numbers, broken)[:row_count]


def _open(stream: Any, delimiter: str, names: list[str], broken: list[int]) -> Any:
    def note_broken(row: Any) -> str:
        broken.append(row.number)
        return "skip"

    return pc_csv.open_csv(
        stream,
        read_options=pc_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=pc_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note_broken
        ),
        convert_options=pc_csv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.binary()), strings_can_be_null=False
        ),
    )
