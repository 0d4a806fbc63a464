"""Opens a file by what it is: the table from forms to readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from tuner.logs.block import Block
from tuner.logs.csv_file import open_csv
from tuner.logs.file_start import read_start
from tuner.logs.json_lines import open_json_lines
from tuner.logs.json_values import open_json_values
from tuner.logs.layout import Place
from tuner.logs.log_file import LogFile, Piece, Spans, Wanted
from tuner.logs.parquet_file import open_parquet
from tuner.logs.sources import Source


def open_log(source: Source) -> LogFile:
    """The file with the columns of its folder names (`batch=4/`) beside its own.

    Raises DamagedFile for a file that is broken or of a kind that is not read.
    """
    file = _opened(source)
    folders = {name: value for name, value in source.partitions.items() if name not in file.layout}
    if not file.layout or not folders:
        return file
    layout = {**file.layout, **{name: Place((name,), "text") for name in folders}}
    spans = file.spans
    return replace(
        file,
        layout=layout,
        pieces=partial(_with_folders, file.pieces, folders),
        fast_pieces=tuple(partial(_with_folders, fast, folders) for fast in file.fast_pieces),
        spans=spans and replace(spans, pieces=partial(SpanWithFolders, spans, folders)),
    )


def _opened(source: Source) -> LogFile:
    if not source.byte_count:
        return LogFile(source, "empty", {}, _nothing)
    start = read_start(source)
    if start.form == "empty":
        return LogFile(source, "empty", {}, _nothing)
    if start.form == "parquet":
        return open_parquet(source)
    if start.form == "csv":
        return open_csv(source, start)
    lines = open_json_lines(source, start) if start.form == "json" else None
    return lines or open_json_values(source, start)


def _with_folders(
    pieces: Callable[[Wanted], Iterable[Piece]], folders: Mapping[str, str | None], wanted: Wanted
) -> Iterator[Piece]:
    for piece in pieces(wanted):
        yield partial(_blocks_with_folders, piece, {n: v for n, v in folders.items() if n in wanted.names})


class SpanWithFolders:
    """The pieces of a span with the columns of the folder names beside their own."""

    def __init__(
        self, spans: Spans, folders: Mapping[str, str | None], wanted: Wanted, start: int, end: int
    ) -> None:
        self._span = spans.pieces(wanted, start, end)
        self._folders = folders
        self._wanted = wanted

    @property
    def row_count(self) -> int:
        return self._span.row_count

    def __iter__(self) -> Iterator[Piece]:
        return _with_folders(lambda _: self._span, self._folders, self._wanted)


def _blocks_with_folders(piece: Piece, folders: Mapping[str, str | None]) -> Iterator[Block]:
    for block in piece():
        same = {name: _repeated(value, block.row_count) for name, value in folders.items()}
        yield replace(block, columns={**block.columns, **same})


def _repeated(value: str | None, row_count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(row_count, np.int8)), pa.array([value], pa.string())
    )


def _nothing(wanted: Wanted) -> Iterator[Piece]:
    return iter(())
