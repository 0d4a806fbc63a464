"""First and last time of row groups, from the statistics in a Parquet file's footer.

Arrow ends the process, rather than raise, where the description of a column in a damaged footer is asked for.
Its reader of rows meets the same damage first and raises, so it is led there before, on a file that gives no
byte: nothing is read for it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tuner.logs.log_file import Wanted
from tuner.logs.sources import Source
from tuner.logs.times import NO_TIME, read_time


@dataclass(frozen=True, slots=True)
class _Span:
    """First and last time in a row group, and whether every row of it has one."""

    first_us: int
    last_us: int
    covers_all: bool


class GroupTimes:
    """The times of one file's row groups, where its footer tells them."""

    def __init__(self, source: Source, metadata: Any) -> None:
        self._byte_count = source.byte_count
        self._metadata = metadata

    def is_outside(self, group: int, wanted: Wanted) -> bool:
        """Whether the statistics of the time column prove that no row of the group lies in the window."""
        span = None if wanted.window == (None, None) else self._of_group(group, wanted)
        if span is None or not span.covers_all:
            return False
        since, until = wanted.window
        return (since is not None and span.last_us < since) or (until is not None and span.first_us >= until)

    def span(self, wanted: Wanted) -> tuple[int, int] | None:
        """First and last microsecond of the file; None where some group does not tell."""
        groups = [g for g in range(self._metadata.num_row_groups) if self._metadata.row_group(g).num_rows]
        spans: list[_Span] = []
        for group in groups:
            span = self._of_group(group, wanted)
            if span is None:
                return None
            spans.append(span)
        if not spans:
            return None
        return min(span.first_us for span in spans), max(span.last_us for span in spans)

    def _of_group(self, group: int, wanted: Wanted) -> _Span | None:
        """None where the statistics are missing or their unit is in doubt."""
        place = self._place(wanted.time)
        if place is None or not self._is_described(group, str(wanted.time)):
            return None
        statistics = self._metadata.row_group(group).column(place).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        try:
            least, largest = statistics.min, statistics.max
        except (ValueError, OverflowError):  # texts that are none, and days beyond the calendar
            return None
        if isinstance(least, (str, bytes)):
            return None
        first, first_unit = read_time(least, wanted.time_unit)
        last, last_unit = read_time(largest, wanted.time_unit)
        if NO_TIME in (first, last) or first_unit != last_unit:
            return None
        return _Span(first, last, not statistics.null_count)

    def _place(self, name: str | None) -> int | None:
        schema = self._metadata.schema
        return next((i for i in range(len(schema)) if schema.column(i).path == name), None)

    def _is_described(self, group: int, name: str) -> bool:
        """Whether the reader of rows finds the column in the footer, and would go on to its bytes."""
        file = _NoBytes(self._byte_count)
        try:
            reader = pq.ParquetFile(file, metadata=self._metadata, pre_buffer=False)
            next(reader.iter_batches(1, row_groups=[group], columns=[name], use_threads=False), None)
        except (OSError, pa.ArrowException):
            return file.was_read
        return file.was_read


class _NoBytes(io.RawIOBase):
    """A file of so many bytes that gives none and knows whether some were asked for."""

    def __init__(self, byte_count: int) -> None:
        self._byte_count = byte_count
        self._position = 0
        self.was_read = False

    def read(self, byte_count: int = -1) -> bytes:
        self.was_read = True
        return b""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._byte_count}[whence]
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
