"""Finds quotes in CSV that swallow lines: a value that goes on over lines has to be closed, and closed well.

Readers take everything up to the next quote, or to the end of the file, for one value; rows would be lost
without a trace.
"""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pyarrow.compute as pc

from tuner.errors import DamagedFile
from tuner.logs.file_start import PlainBytes, plain_bytes
from tuner.logs.sources import Source

# Prompts are longer than the default, and a quote that stays open takes all that follows.
csv.field_size_limit(1 << 30)


def check_quotes(source: Source, compression: str | None, delimiter: str) -> None:
    """Read the file once more, strictly; DamagedFile where a quote takes lines that are not its own.

    A quote that is closed amid a value on its own line does no harm.
    """
    with plain_bytes(source, compression) as stream:
        binary = io.BufferedReader(_Raw(stream), 1 << 20)
        text = io.TextIOWrapper(binary, "utf-8", errors="replace", newline="")
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        while True:
            start = reader.line_num
            try:
                next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if reader.line_num > start + 1 or "unexpected end" in str(error):
                    raise DamagedFile(
                        source.name,
                        f"has a quote in line {start + 1} that takes lines up to {reader.line_num} ({error})",
                    ) from error


def refuse_lines(source: Source, name: str, column: pa.Array) -> None:
    """DamagedFile where a size, count or time goes on over lines, which none does."""
    if pc.any(pc.match_substring_regex(column, r"\n.")).as_py():
        raise DamagedFile(
            source.name, f"has a value of '{name}' that goes on over lines: a quote is not closed"
        )


class _Raw(io.RawIOBase):
    """Plain bytes as Python's readers want them."""

    def __init__(self, stream: PlainBytes) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)
