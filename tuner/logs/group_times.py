"""First and last time of a Parquet file's row groups, as far as its footer tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from tuner.logs.footer import Bounds, Chunk, Footer
from tuner.logs.log_file import Wanted
from tuner.logs.times import NO_TIME, read_time

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class _Span:
    """First and last time in a row group, and whether every row of it has one.

    `stored` are the two as whole numbers of the column's own unit, where that is what they are.
    """

    first_us: int
    last_us: int
    covers_all: bool
    stored: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """Least and largest of times that lie in one bucket, as stored."""

    bucket: int
    least: int
    largest: int


class GroupTimes:
    """The times of one file's row groups in the column wanted as time, which Arrow reads as `time_type`."""

    def __init__(self, footer: Footer, metadata: Any, time_type: pa.DataType, wanted: Wanted) -> None:
        self._footer = footer
        self._metadata = metadata
        self._time_type = time_type
        self._wanted = wanted

    def is_outside(self, group: int) -> bool:
        """Whether the statistics prove that no row of the group lies in the window."""
        span = None if self._wanted.window == (None, None) else self._spans[group]
        if span is None or not span.covers_all:
            return False
        since, until = self._wanted.window
        return (since is not None and span.last_us < since) or (until is not None and span.first_us >= until)

    def in_one_bucket(self, bounds: Bounds) -> StoredSpan | None:
        """The span of times with these bounds; None where it is not sure that one bucket has them all."""
        span = _span(bounds, self._meaning, self._wanted.time_unit)
        if span is None or span.stored is None:
            return None
        since, until = self._wanted.window
        if (since is not None and span.first_us < since) or (until is not None and span.last_us >= until):
            return None
        width_us = self._wanted.bucket_us
        first, last = span.first_us // width_us, span.last_us // width_us
        return StoredSpan(first, *span.stored) if first == last else None

    def chunk(self, group: int) -> Chunk | None:
        """The group's times; None where it is not sure that they are whole numbers and none is missing."""
        span = self._spans[group]
        is_sure = self._kind is not None and span is not None and span.stored is not None
        return self._chunks[group] if is_sure else None

    @property
    def may_be_null(self) -> bool | None:
        """Whether a row may be without a time; None where the column lies inside of others that may be."""
        column = self._metadata.schema.column(self._place)
        levels = column.max_definition_level, column.max_repetition_level
        return {(0, 0): False, (1, 0): True}.get(levels)

    def as_times(self, values: pa.Array) -> pa.Array:
        """Whole numbers as the column stores them, in the type of the column."""
        return values.cast(self._kind)

    def span(self) -> tuple[int, int] | None:
        """First and last microsecond of the file; None where some group that has rows does not tell."""
        row_counts = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        spans = [span for span, count in zip(self._spans, row_counts, strict=True) if count]
        known = [span for span in spans if span is not None]
        if not known or len(known) < len(spans):
            return None
        return min(span.first_us for span in known), max(span.last_us for span in known)

    @cached_property
    def _place(self) -> int | None:
        schema = self._metadata.schema
        return next((i for i in range(len(schema)) if schema.column(i).path == self._wanted.time), None)

    @cached_property
    def _meaning(self) -> dict[str, Any]:
        described: dict[str, Any] = json.loads(
            self._metadata.schema.column(self._place).logical_type.to_json()
        )
        return described

    @cached_property
    def _kind(self) -> pa.DataType | None:
        """The column's type as far as times depend on it; None where Arrow reads it as something else.

        Arrow's own schema decides, which a file may bring along: a duration is stored as a whole number, too.
        """
        kind = self._time_type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if self._meaning["Type"] == "Timestamp":
            unit = _UNITS[self._meaning["timeUnit"]]
            return pa.timestamp(unit, kind.tz) if pa.types.is_timestamp(kind) else None
        return pa.int64() if pa.types.is_integer(kind) else None

    @cached_property
    def _spans(self) -> list[_Span | None]:
        nothing: list[_Span | None] = [None] * self._metadata.num_row_groups
        if self._place is None:
            return nothing
        spans = [
            None if bounds is None else _span(bounds, self._meaning, self._wanted.time_unit)
            for bounds in (None if chunk is None else chunk.bounds for chunk in self._chunks)
        ]
        return spans if len(spans) == len(nothing) else nothing

    @property
    def _chunks(self) -> list[Chunk | None]:
        return [] if self._place is None else self._footer.chunks(self._place)


def _span(bounds: Bounds, meaning: dict[str, Any], unit: str | None) -> _Span | None:
    """None where the values are no times, or numbers whose unit is in doubt."""
    if bounds.least < 0 and meaning.get("isSigned") is False:
        return None  # a number with its highest bit set, which the bounds show as negative
    (first, first_unit), (last, last_unit) = (
        _time(value, meaning, unit) for value in (bounds.least, bounds.largest)
    )
    if NO_TIME in (first, last) or first_unit != last_unit:
        return None
    ends = bounds.least, bounds.largest
    is_whole = meaning.get("Type") != "Date" and all(isinstance(end, int) for end in ends)
    stored = (int(ends[0]), int(ends[1])) if is_whole and bounds.null_count == 0 else None
    return _Span(first, last, not bounds.null_count, stored)


def _time(value: float, meaning: dict[str, Any], unit: str | None) -> tuple[int, str | None]:
    kind = meaning.get("Type")
    if kind == "Timestamp":
        return read_time(value, _UNITS[meaning["timeUnit"]])
    if kind == "Date":
        return read_time(value * _SECONDS_A_DAY, "s")
    return read_time(value, unit) if kind in ("None", "Int") else (int(NO_TIME), None)
