"""Tells what a file is by its first bytes, not by its name, and opens it as a stream of plain bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tuner.errors import DamagedFile
from tuner.logs.sources import Source

_COMPRESSIONS = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh", "bz2"))
_FOREIGN = (
    (b"ARROW1", "Arrow IPC"), (b"Obj\x01", "Avro"), (b"ORC", "ORC"), (b"PK\x03\x04", "a zip archive"),
    (b"\xfd7zXZ", "xz"), (b"\x04\x22\x4d\x18", "lz4"), (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
    (b"SQLite format 3", "an SQLite database"),
)  # fmt: skip
_ACCEPTED = "accepted are Parquet, JSON and CSV, plain or gzip, zstd, bz2"
_BOM = b"\xef\xbb\xbf"
START_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class FileStart:
    """What the first bytes tell: `form` is `parquet`, `json`, `array`, `csv` or `empty`.

    `head` are the first plain bytes, without a byte order mark.
    """

    form: str
    compression: str | None
    head: bytes


def read_start(source: Source) -> FileStart:
    """Raises DamagedFile for a file of a kind that we do not read, or that cannot be read."""
    with reading(source), source.filesystem.open_input_stream(source.path, compression=None) as raw:
        magic = bytes(raw.read(16))
    if magic.startswith(b"PAR1"):
        return FileStart("parquet", None, b"")
    for start, kind in _FOREIGN:
        if magic.startswith(start):
            raise DamagedFile(source.name, f"is {kind}; {_ACCEPTED}")
    compression = next((kind for start, kind in _COMPRESSIONS if magic.startswith(start)), None)
    with plain_bytes(source, compression) as stream:
        head = bytes(stream.read(START_BYTES))
    head = head.removeprefix(_BOM)
    form = _form(head, source.base_name)
    if form == "csv" and b"\x00" in head[:4096]:
        raise DamagedFile(source.name, f"is binary data; {_ACCEPTED}")
    return FileStart(form, compression, head)


def _form(head: bytes, name: str) -> str:
    text = head.lstrip()
    if not text:
        return "empty"
    if text[:1] == b"{":
        return "json"
    if text[:1] == b"[" and ".csv" not in name.lower():
        return "array"
    return "csv"


@contextmanager
def plain_bytes(source: Source, compression: str | None) -> Iterator[PlainBytes]:
    """The file's bytes after decompression; members and frames one after another are one stream."""
    with reading(source), source.filesystem.open_input_stream(source.path, compression=None) as raw:
        counted = _Counted(raw)
        stream = (
            pa.CompressedInputStream(pa.PythonFile(counted, "r"), compression) if compression else counted
        )
        yield PlainBytes(source, counted, stream)


class _Counted:
    """A file object that counts the bytes that were read from it."""

    closed = False

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.byte_count = 0

    def read(self, byte_count: int = -1) -> bytes:
        chunk = bytes(self._raw.read(None if byte_count < 0 else byte_count))
        self.byte_count += len(chunk)
        return chunk

    def readable(self) -> bool:
        return True

    def close(self) -> None: ...


class PlainBytes:
    """A stream that knows how far it is in the file and turns read errors into DamagedFile."""

    def __init__(self, source: Source, counted: _Counted, stream: Any) -> None:
        self._source = source
        self._counted = counted
        self.stream = stream

    def read(self, byte_count: int) -> bytes:
        """Up to this many bytes; none at the end."""
        with reading(self._source):
            return bytes(self.stream.read(byte_count))

    def position(self) -> int:
        """Bytes of the file that were consumed, before decompression."""
        return self._counted.byte_count


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turns what Arrow and the system raise on a broken file into DamagedFile."""
    try:
        yield
    except (OSError, EOFError, pa.ArrowException, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise DamagedFile(source.name, f"cannot be read ({why[:200]})") from error
