"""Reads local JSON Lines with DuckDB: every value as its own text, so that nothing is rounded or guessed.

DuckDB parses several times faster than Arrow and takes any mix of types, but it gives up on the first line
that is no JSON object. Such a file is `Refused`, and read again by the careful reader, which counts the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import fs

from tuner.logs.block import Block
from tuner.logs.file_start import reading
from tuner.logs.layout import Layout, Place, take_column
from tuner.logs.log_file import Piece, Refused, Wanted, known_names
from tuner.logs.sources import Source

_BATCH_ROWS = 1 << 17
_LONGEST_LINE_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 20
_THREADS = 2


def can_read_fast(source: Source, compression: str | None, layout: Layout) -> bool:
    """Local plain files whose name DuckDB takes for a name and whose keys differ by more than case."""
    is_local = isinstance(source.filesystem, fs.LocalFileSystem)
    has_wildcard = any(sign in source.path for sign in "*?[{")
    names = [name.lower() for name in layout]
    return is_local and compression is None and not has_wildcard and len(set(names)) == len(names)


def fast_pieces(source: Source, layout: Layout, bytes_per_line: float, wanted: Wanted) -> Iterator[Piece]:
    """Raises Refused where a line is no JSON object or too long; `bytes_per_line` is an estimate.

    DuckDB passes blank lines over: behind one, numbers of rows are not those of lines.
    """
    import duckdb

    places = {name: layout[name] for name in known_names(wanted.names, layout)}
    if not places:
        raise Refused(source.name)
    row = 0
    try:
        with duckdb.connect(config={"threads": _THREADS}) as connection:
            relation = connection.sql(_QUERY.format(columns=_columns(places)), params=[source.path])
            for batch in relation.to_arrow_reader(_BATCH_ROWS):
                yield partial(_block, batch, (row, bytes_per_line), places)
                row += batch.num_rows
    except (duckdb.Error, pa.ArrowException, OSError) as error:  # behind the first batch, Arrow passes it on
        raise Refused(source.name) from error


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
    columns = {name: take_column(batch, place.keys) for name, place in places.items()}
    yield Block(columns, batch.num_rows, first_row, byte_count=round(batch.num_rows * bytes_per_line))


def _columns(places: Mapping[str, Place]) -> str:
    tree: dict[str, Any] = {}
    for place in places.values():
        node = tree
        for key in place.keys[:-1]:
            node = node.setdefault(key, {})
        node[place.keys[-1]] = None
    fields = (f"{_text(key)}: {_text(_type(kind))}" for key, kind in tree.items())
    return "{" + ", ".join(fields) + "}"


def _type(kind: dict[str, Any] | None) -> str:
    if kind is None:
        return "VARCHAR"
    return f"STRUCT({', '.join(f'{_name(key)} {_type(inner)}' for key, inner in kind.items())})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
