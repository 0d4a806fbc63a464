"""Turns a time column of any dress into microseconds since the epoch, UTC.

Numbers are epochs whose unit follows from their size, value by value, unless one is forced; texts are ISO
(without a zone: taken as UTC and said so) or epochs. A time that cannot be read is `NO_TIME`; it never spoils
the size beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tuner.errors import TunerError
from tuner.logs.block import Ends
from tuner.logs.numbers import Int64Array, is_text, plain_values

NO_TIME = np.iinfo(np.int64).min
TIME_UNITS = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0, "ns": 0.001}
"""Microseconds in each unit."""

# Upper ends of the ranges by which the unit of a bare epoch is known. Seconds reach to the year 5138, so
# milliseconds start at 1973, microseconds and nanoseconds likewise.
_RANGES = (("s", 1e11), ("ms", 1e14), ("us", 1e17), ("ns", 1e20))
# Times from the year 1000 to 9999 are times. The year 1 is what Go and .NET write where there is none.
_EARLIEST_US = -30610224000_000_000
_LATEST_US = 253402300800_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*(Z|z|UTC|[+-]\d\d:?\d\d|[+-]\d\d)?)?"
)


@dataclass(frozen=True, slots=True)
class Times:
    """Times of shape (rows,) with what had to be assumed to read them.

    `units` are those that bare numbers were read in; `has_zoneless` says that some text or timestamp had no
    zone; `unreadable_count` counts values that are there but are no time. `ends` are the first and the last
    of them where no more is known; then `us` has the first in every place.
    """

    us: Int64Array
    units: frozenset[str] = frozenset()
    has_zoneless: bool = False
    unreadable_count: int = 0
    ends: tuple[int, int] | None = None


def parse_time(text: str, option: str) -> int:
    """Microseconds since the epoch for an option's value; TunerError where it is no time."""
    us = _from_text(text, None)[0]
    if us == NO_TIME:
        raise TunerError(f"{option} is '{text}'; accepted are times like 2024-05-01T12:00:00Z and epochs")
    return us


def microseconds(moment: datetime) -> int:
    """Exact microseconds since the epoch; a moment without a zone is UTC."""
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def to_datetime(us: int) -> datetime:
    return datetime.fromtimestamp(us // 1_000_000, UTC).replace(microsecond=us % 1_000_000)


def read_times(column: Any, unit: str | None = None) -> Times:
    """Any column as times; `unit` forces the unit of bare numbers."""
    if isinstance(column, list):
        return _from_objects(column, unit)
    if isinstance(column, Ends):
        times = read_times(column.values, unit)
        first, last = (int(us) for us in times.us)
        return replace(times, us=np.broadcast_to(times.us[0], column.row_count), ends=(first, last))
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind):
        return _from_timestamps(column)
    if pa.types.is_date(kind):
        return _from_timestamps(column.cast(pa.timestamp("s")).cast(pa.timestamp("us")))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _from_numbers(column, unit)
    if is_text(kind):
        return _from_texts(column, unit)
    return _all_unreadable(column)


def _all_unreadable(column: pa.Array) -> Times:
    return Times(np.full(len(column), NO_TIME), unreadable_count=len(column) - column.null_count)


def _from_timestamps(column: pa.Array) -> Times:
    factor = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[column.type.unit]
    ticks = _int64(column.cast(pa.int64()))
    us = ticks if factor == 1 else ticks * factor
    if column.type.unit == "ns":
        us = ticks // 1_000
    if column.null_count:
        us = np.where(ticks == NO_TIME, NO_TIME, us)
    bad_count = 0
    if not _are_in_range(column, factor):
        bad = (ticks >= _LATEST_US // factor) | (ticks < _EARLIEST_US // factor)
        us = np.where(bad, NO_TIME, us)
        bad_count = int(bad.sum()) - column.null_count
    has_zoneless = column.type.tz is None and len(us) > column.null_count
    return Times(us, has_zoneless=has_zoneless, unreadable_count=bad_count)


def _are_in_range(column: pa.Array, factor: int) -> bool:
    """Nanoseconds in 64 bits always are."""
    if column.type.unit == "ns" or column.null_count == len(column):
        return True
    ends = pc.min_max(column.cast(pa.int64()))
    return _is_in_range(ends["min"].as_py() * factor) and _is_in_range(ends["max"].as_py() * factor)


def _int64(column: pa.Array) -> Int64Array:
    """The values with NO_TIME for null."""
    return np.asarray((column.fill_null(NO_TIME) if column.null_count else column).to_numpy(), dtype=np.int64)


def _from_numbers(column: pa.Array, unit: str | None) -> Times:
    if pa.types.is_signed_integer(column.type):
        ticks = _int64(column.cast(pa.int64()))
        present = ticks[ticks != NO_TIME] if column.null_count else ticks
        if not len(present):
            return Times(np.full(len(ticks), NO_TIME))
        only = _only_unit(float(present.min()), float(present.max()), unit)
        if only is not None and only != "ns":
            us = ticks * int(TIME_UNITS[only])
            return Times(
                np.where(ticks == NO_TIME, NO_TIME, us) if column.null_count else us, frozenset([only])
            )
    if pa.types.is_floating(column.type):
        values = column.fill_null(np.nan).to_numpy(zero_copy_only=False).astype(np.float64)
        return _from_floats(values, unit, int(np.isnan(values).sum()) - column.null_count)
    return _from_objects(plain_values(column), unit)


def _only_unit(least: float, largest: float, unit: str | None) -> str | None:
    """The one unit that all epochs between the two share, None where they differ or are out of range."""
    first, last = (_unit_of(value, unit) for value in (least, largest))
    if first is None or first != last:
        return None
    return first if all(_is_in_range(value * TIME_UNITS[first]) for value in (least, largest)) else None


def _unit_of(value: float, unit: str | None) -> str | None:
    if unit is not None:
        return unit
    return next((name for name, end in _RANGES if abs(value) < end), None)


def _from_floats(values: np.ndarray[Any, np.dtype[np.float64]], unit: str | None, nan_count: int) -> Times:
    us = np.full(len(values), NO_TIME)
    units = set()
    start = 0.0
    ranges: tuple[tuple[str, float], ...] = _RANGES if unit is None else ((unit, np.inf),)
    for name, end in ranges:
        size = np.abs(values)
        us_here = values * TIME_UNITS[name]
        here = (size >= start) & (size < end) & (us_here >= _EARLIEST_US) & (us_here < _LATEST_US)
        if here.any():
            us[here] = np.rint(us_here[here]).astype(np.int64)
            units.add(name)
        start = end
    unreadable = int((us == NO_TIME).sum()) - int(np.isnan(values).sum()) + nan_count
    return Times(us, frozenset(units), unreadable_count=unreadable)


def _from_texts(column: pa.Array, unit: str | None) -> Times:
    if not pa.types.is_string(column.type):
        try:
            column = column.cast(pa.large_string())
        except pa.ArrowInvalid:  # no UTF-8
            return _from_objects(plain_values(column), unit)
    empty = pc.equal(column, "")
    if pc.any(empty).as_py():
        column = pc.if_else(empty, None, column)
    if _starts_with_number(column):
        try:
            return _from_numbers(column.cast(pa.int64()), unit)
        except pa.ArrowInvalid:
            return _from_objects(plain_values(column), unit)
    for kind, is_zoneless in ((pa.timestamp("us", "UTC"), False), (pa.timestamp("us"), True),
                              (pa.timestamp("ns", "UTC"), False), (pa.timestamp("ns"), True)):  # fmt: skip
        try:
            read = pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
        times = _from_timestamps(read)
        has_zoneless = is_zoneless and column.null_count < len(column)
        return Times(times.us, has_zoneless=has_zoneless, unreadable_count=times.unreadable_count)
    return _from_objects(plain_values(column), unit)


def _starts_with_number(column: pa.Array) -> bool:
    present = column.drop_null() if column.null_count else column
    return bool(len(present)) and str(plain_values(present[:1])[0]).strip().isdigit()


def _from_objects(column: Sequence[Any], unit: str | None) -> Times:
    us = np.full(len(column), NO_TIME)
    units: set[str] = set()
    has_zoneless = False
    unreadable = 0
    for row, value in enumerate(column):
        time_us, found, zoneless = _one(value, unit)
        us[row] = time_us
        if found:
            units.add(found)
        has_zoneless |= zoneless
        unreadable += time_us == NO_TIME and value is not None
    return Times(us, frozenset(units), has_zoneless, int(unreadable))


def read_time(value: Any, unit: str | None) -> tuple[int, str | None]:
    """One time in microseconds (`NO_TIME` where it is none), and the unit in which a number was read."""
    if isinstance(value, datetime):
        return microseconds(value), None
    us, found, _ = _one(value, unit)
    return us, found


def _one(value: Any, unit: str | None) -> tuple[int, str | None, bool]:
    """Microseconds, the unit that was assumed, and whether the zone was."""
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, str):
        return _from_text(value.strip(), unit)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return int(NO_TIME), None, False
    name = _unit_of(float(value), unit) if -1e20 < value < 1e20 else None
    if name is None:
        return int(NO_TIME), None, False
    us = _in_microseconds(value, name)
    return (us, name, False) if _is_in_range(us) else (int(NO_TIME), None, False)


def _is_in_range(us: float) -> bool:
    return _EARLIEST_US <= us < _LATEST_US


def _in_microseconds(value: int | float | Decimal, unit: str) -> int:
    if isinstance(value, int):
        return value // 1_000 if unit == "ns" else value * int(TIME_UNITS[unit])
    if isinstance(value, Decimal):
        return round(value * Decimal(str(TIME_UNITS[unit])))
    return round(value * TIME_UNITS[unit])


def _from_text(text: str, unit: str | None) -> tuple[int, str | None, bool]:
    iso = _ISO.fullmatch(text) if text.isascii() else None
    if iso is not None:
        return _from_iso(iso)
    try:
        return _one(Decimal(text), unit) if text.isascii() and len(text) < 40 else (int(NO_TIME), None, False)
    except (InvalidOperation, ValueError):
        return int(NO_TIME), None, False


def _from_iso(iso: re.Match[str]) -> tuple[int, str | None, bool]:
    day, minutes, seconds, fraction, zone = iso.groups()
    zone = "+00:00" if zone in (None, "Z", "z", "UTC") else zone
    try:
        moment = datetime.fromisoformat(f"{day}T{minutes or '00:00'}:{seconds or '00'}{zone}")
    except ValueError:
        return int(NO_TIME), None, False
    us = microseconds(moment) + int(f"{fraction or '0':0<9}"[:6])
    return (us, None, iso.group(5) is None) if _is_in_range(us) else (int(NO_TIME), None, False)
