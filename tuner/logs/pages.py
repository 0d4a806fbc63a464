"""Pages of a column chunk in a Parquet file: what their headers say, and a file of some of them.

Arrow reads a column of a row group as a whole. To unpack some pages alone, they are copied as they stand into
a file of one column in memory, with a footer of their own, and Arrow reads that. Source:
apache/parquet-format, parquet.thrift.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from tuner.logs.footer import (
    BYTE_COUNT,
    DICTIONARY_PAGE,
    FIRST_DATA_PAGE,
    TYPE,
    Bounds,
    Chunk,
    bounds_between,
    bounds_of,
)
from tuner.logs.thrift_compact import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Compact,
    binary_of,
    list_of_structs,
    struct_of,
    whole_of,
)

_COMPRESSED_SIZE, _DICTIONARY_HEADER = 3, 7
_DATA_HEADERS = {5: (1, 2, 5), 8: (1, 4, 8)}
"""Both versions of a data page's header, with the fields in it: number of values, encoding, statistics."""
_INDEX_BOUNDS = (2, 3)
_DICTIONARY_CODED = (2, 8)
_ROW_COUNT, _UNPACKED_BYTES = 5, 6
_KEPT = (TYPE, 2, 3, 4)
"""Fields of a chunk's description that hold for its pages: type, encodings, path and codec."""
_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of values: its bytes in the chunk, header included, and the bounds of its values if told."""

    start: int
    end: int
    row_count: int
    is_dictionary_coded: bool
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class ChunkPages:
    """A chunk's bytes cut into pages; `dictionary` has the place of that page's bytes."""

    chunk: Chunk
    data: bytes
    pages: tuple[Page, ...]
    dictionary: tuple[int, int] | None

    def values(self, pages: Sequence[Page], is_optional: bool) -> pa.Array:
        """The values of some pages, as whole numbers; Arrow's errors where they cannot be read."""
        content = self._file(pages, is_optional)
        with pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
            return file.read(use_threads=False)[0].combine_chunks().cast(pa.int64())

    def _file(self, pages: Sequence[Page], is_optional: bool) -> bytes:
        dictionary = b""
        if self.dictionary is not None and any(page.is_dictionary_coded for page in pages):
            dictionary = self.data[slice(*self.dictionary)]
        body = b"".join([dictionary, *(self.data[page.start : page.end] for page in pages)])
        footer = self._footer(sum(page.row_count for page in pages), len(dictionary), len(body), is_optional)
        return b"".join([_MAGIC, body, footer, struct.pack("<I", len(footer)), _MAGIC])

    def _footer(self, row_count: int, dictionary_bytes: int, byte_count: int, is_optional: bool) -> bytes:
        """Parquet's FileMetaData of one row group with one column."""
        rows, size = (I64, whole_of(row_count)), (I64, whole_of(byte_count))
        version, first_byte = (I32, whole_of(2)), (I64, whole_of(len(_MAGIC)))
        places = {FIRST_DATA_PAGE: (I64, whole_of(len(_MAGIC) + dictionary_bytes))}
        if dictionary_bytes:
            places[DICTIONARY_PAGE] = first_byte
        described = {number: self.chunk.description[number] for number in _KEPT}
        described |= {_ROW_COUNT: rows, _UNPACKED_BYTES: size, BYTE_COUNT: size, **places}
        description = struct_of([(number, *value) for number, value in sorted(described.items())])
        column_chunk = struct_of([(2, *first_byte), (3, STRUCT, description)])
        row_group = struct_of([(1, LIST, list_of_structs([column_chunk])), (2, *size), (3, *rows)])
        schema = list_of_structs(_schema_elements(self.chunk, is_optional))
        groups = list_of_structs([row_group])
        return struct_of([(1, *version), (2, LIST, schema), (3, *rows), (4, LIST, groups)])


def _schema_elements(chunk: Chunk, is_optional: bool) -> list[bytes]:
    """The root, which has one child, and the column."""
    name, one_child = (4, BINARY, binary_of(b"values")), (5, I32, whole_of(1))
    repetition = (3, I32, whole_of(int(is_optional)))  # 0 is required, 1 optional
    return [struct_of([name, one_child]), struct_of([(1, *chunk.description[TYPE]), repetition, name])]


def pages_of(chunk: Chunk, data: bytes, index: bytes = b"", most_pages: int | None = None) -> ChunkPages:
    """Cut a chunk's bytes into pages; bounds come from the index, where the chunk has one.

    Raises one of `footer.BROKEN` where the bytes cannot be followed, or where there are more pages.
    """
    pages: list[Page] = []
    dictionary = None
    physical, at = chunk.whole(TYPE), 0
    while at < len(data):
        found = _header(Compact(data, at), physical)
        if found.is_dictionary:
            dictionary = at, found.end
        elif found.row_count is not None:
            is_coded = found.encoding in _DICTIONARY_CODED
            pages.append(Page(at, found.end, found.row_count, is_coded, found.bounds))
        at = found.end
        if most_pages is not None and len(pages) > most_pages:
            raise ValueError(f"more than {most_pages} pages")
    if index:
        bounds = _bounds_in_index(physical, Compact(index))
        pages = [replace(page, bounds=own) for page, own in zip(pages, bounds, strict=True)]
    return ChunkPages(chunk, data, tuple(pages), dictionary)


def _bounds_in_index(physical: int, index: Compact) -> list[Bounds | None]:
    """Bounds of each page from Parquet's ColumnIndex."""
    values: dict[int, list[bytes]] = {}
    for number, kind in index.fields():
        if number in _INDEX_BOUNDS:
            values[number] = [index.binary() for _ in range(index.list_length())]
        else:
            index.skip(kind)
    both = zip(*(values.get(number, []) for number in _INDEX_BOUNDS), strict=True)
    # A page of nulls has bounds without a byte.
    return [bounds_between(physical, least, largest, None) if least else None for least, largest in both]


@dataclass(slots=True)
class _Header:
    """A page's header; `end` is where the page ends."""

    end: int = 0
    is_dictionary: bool = False
    row_count: int | None = None
    encoding: int = 0
    bounds: Bounds | None = None


def _header(reader: Compact, physical: int) -> _Header:
    found, byte_count = _Header(), -1
    for number, kind in reader.fields():
        if number == _COMPRESSED_SIZE:
            byte_count = reader.whole()
        elif number in _DATA_HEADERS:
            _read_data_header(reader, found, _DATA_HEADERS[number], physical)
        else:
            found.is_dictionary |= number == _DICTIONARY_HEADER
            reader.skip(kind)
    found.end = reader.at + byte_count
    if byte_count < 0 or found.end > len(reader.data):
        raise ValueError(f"a page of {byte_count} bytes of {len(reader.data)}")
    return found


def _read_data_header(reader: Compact, found: _Header, fields: tuple[int, int, int], physical: int) -> None:
    values, encoding, statistics = fields
    for number, kind in reader.fields():
        if number == values:
            found.row_count = reader.whole()
        elif number == encoding:
            found.encoding = reader.whole()
        elif number == statistics:
            found.bounds = bounds_of(physical, reader)
        else:
            reader.skip(kind)
