"""The stretch of time that a file's folders state, such as `date=2024-05-01/hour=07`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tuner.logs.log_file import TimeWindow
from tuner.logs.times import microseconds

_DATE_NAMES = ("date", "dt", "ds", "day", "event_date", "log_date")
_HOUR_NAMES = ("hour", "hr", "hh")


def lies_outside(partitions: Mapping[str, str | None], window: TimeWindow) -> bool:
    """Whether the folders prove that no row of the file lies in the window; False where they say nothing."""
    since, until = window
    stretch = _stretch(partitions) if window != (None, None) else None
    if stretch is None:
        return False
    start, end = stretch
    return (since is not None and end <= since) or (until is not None and start >= until)


def _stretch(partitions: Mapping[str, str | None]) -> tuple[int, int] | None:
    """Start and end in microseconds; a day, or an hour of it."""
    values = {name.lower(): value for name, value in partitions.items() if value is not None}
    day = _day(values)
    if day is None:
        return None
    length = timedelta(days=1)
    hour = next((values[name] for name in _HOUR_NAMES if name in values), None)
    if hour is not None and hour.isdigit() and int(hour) < 24:
        day, length = day + timedelta(hours=int(hour)), timedelta(hours=1)
    return microseconds(day), microseconds(day + length)


def _day(values: Mapping[str, str]) -> datetime | None:
    texts = [values[name] for name in _DATE_NAMES if name in values]
    if {"year", "month", "day"} <= values.keys():
        texts.insert(0, "-".join(values[name].zfill(2) for name in ("year", "month", "day")))
    for text in texts:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return None
