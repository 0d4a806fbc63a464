"""Guesses the rows and the span of time of long JSON Lines from their first and last lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tuner.logs.file_start import reading
from tuner.logs.layout import Layout, take_value
from tuner.logs.log_file import Wanted
from tuner.logs.sources import Source
from tuner.logs.times import NO_TIME, read_time

LONG_FILE_BYTES = 32 << 20
"""Below, a guess is not worth another read."""
_TAIL_BYTES = 64 << 10


def line_span(
    source: Source, layout: Layout, first_lines: Sequence[bytes], wanted: Wanted
) -> tuple[int, int] | None:
    """First and last microsecond of the first and the last whole line; None where either has no time."""
    place = layout.get(wanted.time) if wanted.time is not None else None
    if place is None:
        return None
    with reading(source), source.filesystem.open_input_file(source.path) as file:
        file.seek(max(0, source.byte_count - _TAIL_BYTES))
        tail = bytes(file.read(_TAIL_BYTES))
    last_lines = tail[: tail.rfind(b"\n") + 1].splitlines()
    if not first_lines or len(last_lines) < 2:
        return None
    times = [_time(line, place.keys, wanted.time_unit) for line in (first_lines[0], last_lines[-1])]
    return None if NO_TIME in times else (min(times), max(times))


def _time(line: bytes, keys: Sequence[str], unit: str | None) -> int:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return int(NO_TIME)
    return read_time(take_value(value, tuple(keys)), unit)[0] if isinstance(value, dict) else int(NO_TIME)
