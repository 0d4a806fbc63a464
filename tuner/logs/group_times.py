"""First and last time of a Parquet file's row groups, as far as its footer tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tuner.logs.footer import Bounds, column_bounds
from tuner.logs.log_file import Wanted
from tuner.logs.times import NO_TIME, read_time

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class _Span:
    """First and last time in a row group, and whether every row of it has one."""

    first_us: int
    last_us: int
    covers_all: bool


class GroupTimes:
    """The times of one file's row groups in the column that is wanted as time."""

    def __init__(self, footer: bytes, metadata: Any, wanted: Wanted) -> None:
        self._footer = footer
        self._metadata = metadata
        self._wanted = wanted

    def is_outside(self, group: int) -> bool:
        """Whether the statistics prove that no row of the group lies in the window."""
        span = None if self._wanted.window == (None, None) else self._spans[group]
        if span is None or not span.covers_all:
            return False
        since, until = self._wanted.window
        return (since is not None and span.last_us < since) or (until is not None and span.first_us >= until)

    def span(self) -> tuple[int, int] | None:
        """First and last microsecond of the file; None where some group that has rows does not tell."""
        row_counts = [self._metadata.row_group(i).num_rows for i in range(self._metadata.num_row_groups)]
        spans = [span for span, count in zip(self._spans, row_counts, strict=True) if count]
        known = [span for span in spans if span is not None]
        if not known or len(known) < len(spans):
            return None
        return min(span.first_us for span in known), max(span.last_us for span in known)

    @cached_property
    def _spans(self) -> list[_Span | None]:
        nothing: list[_Span | None] = [None] * self._metadata.num_row_groups
        schema = self._metadata.schema
        place = next((i for i in range(len(schema)) if schema.column(i).path == self._wanted.time), None)
        if place is None:
            return nothing
        meaning = json.loads(schema.column(place).logical_type.to_json())
        spans = [
            None if bounds is None else _span(bounds, meaning, self._wanted.time_unit)
            for bounds in column_bounds(self._footer, place)
        ]
        return spans if len(spans) == len(nothing) else nothing


def _span(bounds: Bounds, meaning: dict[str, Any], unit: str | None) -> _Span | None:
    """None where the values are no times, or numbers whose unit is in doubt."""
    (first, first_unit), (last, last_unit) = (
        _time(value, meaning, unit) for value in (bounds.least, bounds.largest)
    )
    if NO_TIME in (first, last) or first_unit != last_unit:
        return None
    return _Span(first, last, not bounds.null_count)


def _time(value: float, meaning: dict[str, Any], unit: str | None) -> tuple[int, str | None]:
    kind = meaning.get("Type")
    if kind == "Timestamp":
        return read_time(value, _UNITS[meaning["timeUnit"]])
    if kind == "Date":
        return read_time(value * _SECONDS_A_DAY, "s")
    return read_time(value, unit) if kind in ("None", "Int") else (int(NO_TIME), None)
