"""Sentences for the user: how the log was understood, what was assumed, and what was left out on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tuner.logs.columns import shown_columns
from tuner.logs.long_table import long_table, told_of_long_table
from tuner.traffic.counted import Counted
from tuner.traffic.open_logs import OpenLogs

_A_YEAR_US = 365 * 86_400 * 1_000_000
_KINDS = {
    "requests": "a row is one request",
    "batches": "a row is one executed batch",
    "histogram": "a row is a size with its count",
    "cumulative": "a row is a bucket that includes all smaller ones",
    "counters": "a row is a counter that only grows",
}


def told(logs: OpenLogs, counted: Counted) -> tuple[str, ...]:
    notes = [_understood(logs)]
    notes += _columns(logs)
    notes += _unused(logs)
    notes += _long_table(logs)
    notes += logs.notes
    notes += counted.problems
    notes += [f"{count} rows {why} are left out" for why, count in counted.skipped.items()]
    notes += [
        f"{count} rows are padded to a multiple of {logs.settings.align[axis]} in {axis}"
        for axis, count in counted.padded.items()
    ]
    return tuple(notes + _times(logs, counted))


def _understood(logs: OpenLogs) -> str:
    forms = Counter(file.form for file in logs.files)
    files = ", ".join(f"{count} {form} {'file' if count == 1 else 'files'}" for form, count in forms.items())
    kind = logs.question.log_kind
    forced = " (as --log-kind says)" if logs.settings.log_kind else ""
    return f"kind {kind}: {_KINDS[kind]}{forced}; {files}"


def _columns(logs: OpenLogs) -> list[str]:
    """What the columns mean, with the number of files where files differ."""
    told = Counter(sentence for columns in logs.columns for sentence in columns.sentences())
    everywhere = len(logs.columns)
    return [
        sentence if count == everywhere else f"{sentence}, in {count} of {everywhere} files"
        for sentence, count in told.items()
    ]


def _unused(logs: OpenLogs) -> list[str]:
    """The columns that could be mapped besides; a file of ours has none."""
    used = {name for columns in logs.columns for name in columns.names}
    left = [name for name in dict.fromkeys(n for file in logs.files for n in file.layout) if name not in used]
    return [f"not used are the {shown_columns(left)}"] if left and not logs.accounts else []


def _long_table(logs: OpenLogs) -> list[str]:
    found = long_table(file.layout for file in logs.files)
    axes = {column.axis for columns in logs.columns for column in columns.axes if column is not None}
    mapped = {column.name for columns in logs.columns for column in columns.axes if column is not None}
    if found is None or found[1] not in mapped:
        return []
    return [told_of_long_table(*found, min(axes))]


def told_of_graph(refused: Mapping[tuple[int, ...], str], axes: tuple[str, ...]) -> str:
    size, why = min(refused.items())
    values = ",".join(f"{axis}={value}" for axis, value in zip(axes, size, strict=True))
    return (
        f"the model's graph does not fit together at {len(refused)} of the sizes, such as {values} ({why}); "
        f"where sizes have to be multiples, pad them with --align {axes[-1]}=N"
    )


def _times(logs: OpenLogs, counted: Counted) -> list[str]:
    notes = []
    if counted.time_units:
        forced = "" if any(columns.time_unit for columns in logs.columns) else ", by their size"
        notes.append(f"bare times are read in {', '.join(sorted(counted.time_units))}{forced}")
    if counted.end_us is not None and counted.end_us < _A_YEAR_US and counted.time_units:
        notes.append("times start at 1970, so they seem to count from the start of the log")
    if counted.has_zoneless:
        notes.append("some times have no zone and are taken as UTC")
    if counted.unreadable_time_count:
        notes.append(f"{counted.unreadable_time_count} times cannot be read; their sizes count all the same")
    return notes
