"""Reads local JSON Lines with DuckDB, which parses several times faster than Arrow.

DuckDB gives up on the first line that is no JSON object, and on a value that is not of the type it was asked
for. Such a file is `Refused`, and read again by the next reader. There are two here. One reads sizes as
doubles; they hold every size exactly, but the word `true` becomes 1, so a file with that word in it is
refused. The other reads every value as its own text, so that nothing is rounded or guessed. Behind both comes
the careful reader, which takes anything and counts each line that is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

from tuner.logs.block import Block, Column
from tuner.logs.file_start import reading
from tuner.logs.layout import Layout, Place, take_column
from tuner.logs.log_file import Piece, Refused, Wanted, known_names
from tuner.logs.sources import Source

_BATCH_ROWS = 1 << 17
_LONGEST_LINE_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20
_OVERLAP = len("true") - 1
_THREADS = 2
_SETTINGS = "set enable_progress_bar = false; set streaming_buffer_size = '64MB'"
"""The buffer is what DuckDB may parse ahead: with its own 1 MB it stands still while blocks are counted."""


def can_read_fast(source: Source, compression: str | None, layout: Layout) -> bool:
    """Local plain files whose name DuckDB takes for a name and whose keys differ by more than case."""
    is_local = isinstance(source.filesystem, fs.LocalFileSystem)
    has_wildcard = any(sign in source.path for sign in "*?[{")
    names = [name.lower() for name in layout]
    return is_local and compression is None and not has_wildcard and len(set(names)) == len(names)


def number_pieces(source: Source, layout: Layout, bytes_per_line: float, wanted: Wanted) -> Iterator[Piece]:
    """Sizes as doubles; raises Refused as `text_pieces` does, and where not all sizes are positive numbers.

    What is refused is what a double does not tell from a number: `true`, `false` (0) and texts like `nan`.
    """
    numbers = frozenset(name for name in wanted.sizes if name in layout and layout[name].kind == "number")
    if not numbers:
        raise Refused(source.name)
    yield partial(_refuse_true, source)
    yield from _pieces(source, (layout, numbers), bytes_per_line, wanted)


def text_pieces(source: Source, layout: Layout, bytes_per_line: float, wanted: Wanted) -> Iterator[Piece]:
    """Every value as text; raises Refused where a line is no JSON object or too long.

    `bytes_per_line` is an estimate. DuckDB passes blank lines over: behind one, numbers of rows are not those
    of lines.
    """
    yield from _pieces(source, (layout, frozenset()), bytes_per_line, wanted)


def _pieces(
    source: Source, columns: tuple[Layout, frozenset[str]], bytes_per_line: float, wanted: Wanted
) -> Iterator[Piece]:
    import duckdb

    layout, numbers = columns
    places = {name: layout[name] for name in known_names(wanted.names, layout)}
    if not places:
        raise Refused(source.name)
    query = _QUERY.format(columns=_columns(places, numbers))
    row = 0
    with duckdb.connect(config={"threads": _THREADS}) as connection:
        connection.execute(_SETTINGS)
        try:
            for batch in connection.sql(query, params=[source.path]).to_arrow_reader(_BATCH_ROWS):
                yield partial(_block, batch, (row, bytes_per_line), places)
                row += batch.num_rows
        except (duckdb.Error, pa.ArrowException, OSError) as error:  # Arrow passes on what comes late
            raise Refused(source.name) from error


def _refuse_true(source: Source) -> Iterator[Block]:
    """No blocks; Refused where the file has the word `true`, wherever it stands."""
    buffer = bytearray(_OVERLAP + _CHUNK_BYTES)  # one for all chunks: new memory costs as much as the search
    with reading(source), source.filesystem.open_input_stream(source.path, compression=None) as stream:
        while count := stream.readinto(memoryview(buffer)[_OVERLAP:]):
            if _has_true(buffer, _OVERLAP + count):
                raise Refused(source.name)
            buffer[:_OVERLAP] = buffer[count : count + _OVERLAP]
    yield from ()


def _has_true(buffer: bytearray, length: int) -> bool:
    """Rarer letters are looked for first: one, then two in a row, are found ten times as fast as the word."""
    if buffer.find(b"u", 0, length) < 0:
        return False
    signs = np.frombuffer(buffer, np.uint8, length)
    has_two = ((signs[:-1] == ord("r")) & (signs[1:] == ord("u"))).any()
    return bool(has_two) and buffer.find(b"true", 0, length) >= 0


def has_line_count(source: Source, row_count: int) -> bool:
    """Whether there are as many lines as rows, so that numbers of rows are those of lines; reads the file."""
    count, last = 0, b"\n"
    with reading(source), source.filesystem.open_input_stream(source.path, compression=None) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            count += bytes(chunk).count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n") == row_count


_QUERY = f"""
    select * from read_json(?, format = 'newline_delimited', records = true, columns = {{columns}},
                            compression = 'none', maximum_object_size = {_LONGEST_LINE_BYTES})
"""


def _block(batch: Any, where: tuple[int, float], places: Mapping[str, Place]) -> Iterator[Block]:
    first_row, bytes_per_line = where
    columns: dict[str, Column] = {}
    for name, place in places.items():
        columns[name] = take_column(batch, place.keys)
        if pa.types.is_floating(columns[name].type) and not _are_positive(columns[name]):
            raise Refused(name)
    yield Block(columns, batch.num_rows, first_row, byte_count=round(batch.num_rows * bytes_per_line))


def _are_positive(column: pa.Array) -> bool:
    """Whether all that are there are finite numbers above zero."""
    values = (column.fill_null(1) if column.null_count else column).to_numpy()
    return not len(values) or bool(values.min() > 0 and values.max() < np.inf)


def _columns(places: Mapping[str, Place], numbers: frozenset[str]) -> str:
    tree: dict[str, Any] = {}
    for name, place in places.items():
        node = tree
        for key in place.keys[:-1]:
            node = node.setdefault(key, {})
        node[place.keys[-1]] = "DOUBLE" if name in numbers else "VARCHAR"
    fields = (f"{_text(key)}: {_text(_type(kind))}" for key, kind in tree.items())
    return "{" + ", ".join(fields) + "}"


def _type(kind: dict[str, Any] | str) -> str:
    if isinstance(kind, str):
        return kind
    return f"STRUCT({', '.join(f'{_name(key)} {_type(inner)}' for key, inner in kind.items())})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
