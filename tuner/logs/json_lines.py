"""Reads JSON Lines in blocks of whole lines: Arrow's typed reader first, line by line where it refuses.

Arrow reads a block only if every value has the type that the first lines showed, which is what makes it
fast; whatever else a line may hold (NaN, 10^24, a text where numbers were, a broken line) sends its block
the slow way, which judges each line alone. Both ways give the same answer.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from tuner.errors import DamagedFile
from tuner.logs.block import Block, Column
from tuner.logs.fast_lines import can_read_fast, has_line_count, number_pieces, text_pieces
from tuner.logs.file_start import START_BYTES, FileStart, PlainBytes, plain_bytes, reading
from tuner.logs.layout import Layout, Place, layout_of_objects, take_column, take_value
from tuner.logs.line_span import LONG_FILE_BYTES, line_span
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted, known_names
from tuner.logs.record_forms import is_record_form
from tuner.logs.sources import Source

BLOCK_BYTES = 4 << 20
LONGEST_LINE_BYTES = 128 << 20
_LOOK_BACK_BYTES = 64 << 10
_BOM = b"\xef\xbb\xbf"
_SAMPLE_LINES = 1000


def open_json_lines(source: Source, start: FileStart) -> LogFile | None:
    """None where the lines are no JSON values of their own, so that the file must be read as a whole."""
    sample = _sample(source, start)
    objects = [value for value in map(_parsed, sample[:_SAMPLE_LINES]) if value is not _BROKEN]
    if not objects or is_record_form(objects[0]):
        return None
    layout = layout_of_objects(objects)
    pieces = partial(_pieces, source, start.compression, layout)
    bytes_per_line = 1 + sum(map(len, sample)) / len(sample)
    can_be_fast = can_read_fast(source, start.compression, layout)
    readers = (number_pieces, text_pieces) if can_be_fast else ()
    is_long = start.compression is None and source.byte_count > LONG_FILE_BYTES
    spans = None
    if start.compression is None:
        blocks = -(-source.byte_count // BLOCK_BYTES)
        spans = Spans(blocks, BLOCK_BYTES, partial(LineSpan, source, layout), are_numbered=False)
    return LogFile(
        source,
        "json lines",
        layout,
        pieces,
        row_word="line",
        fast_pieces=tuple(partial(reader, source, layout, bytes_per_line) for reader in readers),
        has_fast_numbers=partial(has_line_count, source),
        row_count=round(source.byte_count / bytes_per_line) if is_long else None,
        time_span=partial(line_span, source, layout, sample[:1]) if is_long else None,
        spans=spans,
    )


def _sample(source: Source, start: FileStart) -> list[bytes]:
    """Whole lines from the start of the file, at least one."""
    head = start.head
    if len(head) < START_BYTES - len(_BOM):
        return head.splitlines()
    if b"\n" not in head:
        with plain_bytes(source, start.compression) as stream:
            parts = [b""]
            while b"\n" not in parts[-1] and sum(map(len, parts)) < LONGEST_LINE_BYTES:
                parts.append(stream.read(BLOCK_BYTES))
                if not parts[-1]:
                    break
        head = b"".join(parts).removeprefix(_BOM)
    return head[: head.rfind(b"\n") + 1].splitlines() or [head]


class _Broken:
    """Stands for a line that is no JSON."""


_BROKEN = _Broken()


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _BROKEN


def _pieces(source: Source, compression: str | None, layout: Layout, wanted: Wanted) -> Iterator[Piece]:
    places = _places(layout, wanted)
    with plain_bytes(source, compression) as stream:
        first_line, position = 0, 0
        for lines in _blocks_of_lines(source, _chunks(stream)):
            consumed = stream.position() - position
            position += consumed
            yield partial(_read_block, lines, (first_line, consumed), places)
            first_line += lines.count(b"\n")


def _places(layout: Layout, wanted: Wanted) -> dict[str, Place]:
    return {name: layout[name] for name in known_names(wanted.names, layout)}


class LineSpan:
    """The lines that end in the blocks of bytes from `start` up to `end`, in the blocks of the whole file.

    A line that goes on past the end belongs to the span in which it ends.
    """

    def __init__(self, source: Source, layout: Layout, wanted: Wanted, start: int, end: int) -> None:
        self.row_count = 0
        self._source = source
        self._places = _places(layout, wanted)
        self._from = start * BLOCK_BYTES
        self._until = min(end * BLOCK_BYTES, source.byte_count)

    def __iter__(self) -> Iterator[Piece]:
        source, first_line = self._source, 0
        with reading(source), source.filesystem.open_input_file(source.path) as file:
            kept = _start_of_line(source, file, self._from)
            has_end = self._until == source.byte_count
            for lines in _blocks_of_lines(source, self._chunks(file), kept, has_end=has_end):
                yield partial(_read_block, lines, (first_line, len(lines)), self._places)
                first_line += lines.count(b"\n")
        self.row_count = first_line

    def _chunks(self, file: Any) -> Iterator[bytes]:
        file.seek(self._from)
        for position in range(self._from, self._until, BLOCK_BYTES):
            chunk = bytes(file.read(min(BLOCK_BYTES, self._until - position)))
            yield chunk if position else chunk.removeprefix(_BOM)


def _start_of_line(source: Source, file: Any, position: int) -> bytes:
    """What stands before a position on its line; nothing where a line starts there."""
    start = position
    kept = b""
    while start > 0:
        step = min(_LOOK_BACK_BYTES, start)
        start -= step
        file.seek(start)
        before = bytes(file.read(step))
        end = before.rfind(b"\n") + 1
        kept = before[end:] + kept
        if end:
            break
        if len(kept) > LONGEST_LINE_BYTES:
            raise _too_long(source)
    return kept.removeprefix(_BOM) if start == 0 else kept


def _chunks(stream: PlainBytes) -> Iterator[bytes]:
    yield stream.read(BLOCK_BYTES).removeprefix(_BOM)
    while chunk := stream.read(BLOCK_BYTES):
        yield chunk


def _blocks_of_lines(
    source: Source, chunks: Iterator[bytes], start: bytes = b"", *, has_end: bool = True
) -> Iterator[bytes]:
    """Whole lines: a block for each chunk in which a line ends. `start` stands before the first chunk.

    What is left is a line too where the file ends with the last chunk.
    """
    kept: list[bytes] = [start] if start else []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*kept, chunk[:end]))
            kept = []
        if end < len(chunk):
            kept.append(chunk[end:])
        if sum(map(len, kept)) > LONGEST_LINE_BYTES:
            raise _too_long(source)
    if kept and has_end:
        yield b"".join(kept)


def _too_long(source: Source) -> DamagedFile:
    return DamagedFile(source.name, f"has a line of over {LONGEST_LINE_BYTES >> 20} MB")


def _read_block(lines: bytes, where: tuple[int, int], places: dict[str, Place]) -> Iterator[Block]:
    first_line, byte_count = where
    table = _typed(lines, places)
    if table is not None:
        columns: dict[str, Column] = {name: take_column(table, place.keys) for name, place in places.items()}
        yield Block(columns, table.num_rows, first_line, byte_count=byte_count)
        return
    yield _line_by_line(lines, first_line, byte_count, places)


def _typed(lines: bytes, places: dict[str, Place]) -> Any:
    """The block as Arrow reads it, None where a value or a line is not what the first lines showed."""
    schema = _schema(places)
    line_count = lines.count(b"\n") + (not lines.endswith(b"\n"))
    # Arrow loses count of its fields over a line that is a bare value.
    object_count = lines.count(b"\n{") + lines.startswith(b"{")
    if schema is None or object_count != line_count:
        return None
    options = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        table = pj.read_json(
            io.BytesIO(lines), pj.ReadOptions(use_threads=False, block_size=len(lines) + 1), options
        )
    except pa.ArrowException:
        return None
    if table.num_rows != line_count:
        return None
    return table.combine_chunks().to_batches()[0] if line_count else None


_ARROW_TYPES = {"number": pa.int64(), "text": pa.string(), "list": pa.list_(pa.int64())}


def _schema(places: dict[str, Place]) -> pa.Schema | None:
    """What Arrow shall expect; None where the kinds do not allow to expect anything."""
    tree: dict[str, Any] = {}
    for place in places.values():
        kind = _ARROW_TYPES.get(place.kind)
        if kind is None:
            return None
        node = tree
        for key in place.keys[:-1]:
            node = node.setdefault(key, {})
        node[place.keys[-1]] = kind
    return pa.schema(_fields(tree)) if tree else None


def _fields(tree: dict[str, Any]) -> list[pa.Field]:
    return [
        pa.field(key, pa.struct(_fields(kind)) if isinstance(kind, dict) else kind)
        for key, kind in tree.items()
    ]


def _line_by_line(lines: bytes, first_line: int, byte_count: int, places: dict[str, Place]) -> Block:
    rows: list[Any] = []
    damaged: list[int] = []
    numbers: list[int] = []
    for number, line in enumerate(lines.split(b"\n"), first_line):
        if not line.strip():
            continue
        value = _parsed(line)
        if value is not None and not isinstance(value, dict):
            damaged.append(len(rows))
            value = None
        rows.append(value)
        numbers.append(number)
    columns: dict[str, Column] = {
        name: [take_value(row, place.keys) for row in rows] for name, place in places.items()
    }
    return Block(columns, len(rows), first_line, tuple(damaged), byte_count, row_numbers=numbers)
