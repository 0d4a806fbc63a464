"""Reads single requests with their times from the same logs, columns and rules as the size histogram."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.errors import DamagedFile, TunerError, nearest_name
from tuner.logs.block import Block
from tuner.logs.clean import CleanRows, Rules, clean_rows
from tuner.logs.columns import FileColumns, shown_columns
from tuner.logs.log_file import LogFile, Wanted
from tuner.logs.reasons import FINE
from tuner.logs.times import NO_TIME
from tuner.model import Model
from tuner.settings import LogSettings
from tuner.traffic.arrivals import ArrivalPart, Arrivals, FloatArray, Int64Array, arrivals_of
from tuner.traffic.open_logs import OpenLogs, open_logs
from tuner.traffic.reading import rules_of, window_of
from tuner.traffic.runnable import Runnable

LATENCY_NAMES = ("latency_ms", "response_ms", "response_time_ms", "duration_ms")
"""Columns that are taken as observed response times where none is named."""


def read_arrivals(settings: LogSettings, model: Model | None, latency: str | None = None) -> Arrivals:
    """The valid requests with a time, in arrival order; the rest is what `read_traffic` accounts for.

    `latency` names a column of response times in ms, as a client saw them. Raises TunerError where rows are
    no single requests, where no time column is found, and for a column that is not there.
    """
    logs = open_logs(settings, model, window_of(settings))
    kind = logs.question.log_kind
    if kind != "requests":
        raise TunerError(
            f"a replay needs single requests with their times, and these logs are of kind {kind}; "
            "pass --log-kind requests if a row is one request, or leave out --batcher"
        )
    if not any(columns.time for columns in logs.columns):
        raise TunerError(
            "a replay needs the time of each request, and no column is known as one; name it with "
            "--time COLUMN"
        )
    column = _latency_column(logs, latency)
    rules = rules_of(logs, model)
    parts = [
        _part(file, columns, rules, (logs, column))
        for file, columns in zip(logs.files, logs.columns, strict=True)
    ]
    return arrivals_of(logs.axes, parts)


def _latency_column(logs: OpenLogs, wanted: str | None) -> str | None:
    present = [name for file in logs.files for name in file.layout]
    if wanted is not None and wanted not in present:
        raise TunerError(
            f"--latency {wanted}: there is no such column{nearest_name(wanted, present)}; "
            f"{shown_columns(list(dict.fromkeys(present)))}"
        )
    used = {name for columns in logs.columns for name in columns.names}
    known = (name for name in LATENCY_NAMES if name in present and name not in used)
    return wanted or next(known, None)


def _part(
    file: LogFile, columns: FileColumns, rules: Rules, context: tuple[OpenLogs, str | None]
) -> ArrivalPart:
    logs, latency = context
    names = (*columns.names, latency) if latency is not None else columns.names
    runnable = Runnable(logs.model, logs.axes)
    window = window_of(logs.settings)
    wanted = Wanted(tuple(dict.fromkeys(names)), columns.time, columns.time_unit, window)
    blocks = (
        _block(block, clean_rows(block, columns, rules), runnable, latency)
        for piece in file.pieces(wanted)
        for block in piece()
        if not block.is_outside_window
    )
    try:
        found = list(blocks)
    except DamagedFile:  # counted and named by the reading of the traffic; nothing of the file counts
        found = []
    empty = (np.zeros(0), np.zeros((0, len(logs.axes)), np.int64), np.zeros(0))
    joined = [np.concatenate(column) for column in zip(empty, *found, strict=True)]
    inside = _inside(joined[0], window)
    latencies = joined[2][inside] if latency is not None and np.isfinite(joined[2][inside]).all() else None
    return ArrivalPart(file.source.name, joined[0][inside] / 1e6, joined[1][inside], latencies)


def _inside(time_us: FloatArray, window: tuple[int | None, int | None]) -> NDArray[np.bool_]:
    since, until = window
    low = time_us >= since if since is not None else np.ones(len(time_us), bool)
    return np.asarray(low & (time_us < until) if until is not None else low)


def _block(
    block: Block, rows: CleanRows, runnable: Runnable, latency: str | None
) -> tuple[FloatArray, Int64Array, FloatArray]:
    """Times in microseconds, sizes and latencies of the block's valid rows that have a time."""
    sizes = np.stack(rows.sizes, axis=1)
    if rows.times is None:
        return np.zeros(0), sizes[:0], np.zeros(0)
    keep = rows.times.us != NO_TIME
    if rows.codes is not None:
        keep &= rows.codes == FINE
    if rows.counts is not None:
        keep &= rows.counts > 0
    cannot = runnable.cannot_run(rows.sizes)
    if cannot is not None:
        keep &= ~cannot
    return rows.times.us[keep].astype(np.float64), sizes[keep], _latencies(block, latency)[keep]


def _latencies(block: Block, name: str | None) -> FloatArray:
    raw = block.columns.get(name) if name is not None else None
    if raw is None:
        return np.full(block.row_count, np.nan)
    column = pa.array(raw) if isinstance(raw, list) else raw
    try:
        return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TunerError(f"--latency {name}: its values are no numbers ({error}); give them in ms") from error
