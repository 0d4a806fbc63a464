"""The traffic file: the size histogram as Parquet, in place of logs where no single arrivals are needed.

One int64 column an axis, `count` int64, `bucket_start` timestamp[us, UTC] (null where times are not known).
The metadata say that it is one and keep the account of the rows that were read.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tuner.errors import DamagedFile, TunerError
from tuner.logs.times import microseconds, to_datetime
from tuner.traffic.traffic import Rejection, Traffic

COUNT, BUCKET_START = "count", "bucket_start"
_MARK, _VERSION = "tuner.traffic", "1"
_ROWS, _REJECTED = "tuner.rows_read", "tuner.rejected"
_AXIS, _SPAN = "tuner.requests_axis", "tuner.span_us"


@dataclass(frozen=True, slots=True)
class TrafficAccount:
    """What the metadata of a traffic file say of the logs that it was made from."""

    row_count: int
    rejections: Mapping[str, Rejection]
    requests_axis: str | None
    span_us: tuple[int, int] | None


def write_traffic(traffic: Traffic, path: str | Path) -> None:
    """Write the traffic's histogram over its time buckets, replacing the file at once or not at all.

    Raises TunerError where the folder is missing or cannot be written, and for an axis named like the
    columns that the file has besides.
    """
    taken = {COUNT, BUCKET_START} & set(traffic.axes)
    if taken:
        raise TunerError(
            f"cannot write {path}: an axis is named {taken.pop()}, as is a column of the traffic file"
        )
    target = Path(path)
    table = traffic_table(traffic)
    try:
        descriptor, part = tempfile.mkstemp(dir=target.resolve().parent, prefix=".tuner-")
        os.close(descriptor)
        try:
            pq.write_table(table, part, compression="zstd")
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, target)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise TunerError(
            f"cannot write {target}: {error.strerror}; choose a writable folder with --out"
        ) from error


def check_traffic_path(path: str | Path) -> None:
    """TunerError now, where the file could not be written once the logs are read."""
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise TunerError(f"cannot write {path}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise TunerError(f"cannot write {path}: name a file in a writable folder with --out")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def traffic_table(traffic: Traffic) -> pa.Table:
    """The rows of the traffic file: one a size and time bucket."""
    rows, starts, counts = _timed(traffic)
    untimed = traffic.histogram.counts.copy()
    np.subtract.at(untimed, rows, counts)
    left = np.flatnonzero(untimed)
    size_rows = np.concatenate([rows, left])
    is_null = np.concatenate([np.zeros(len(rows), bool), np.ones(len(left), bool)])
    times = pa.array(np.concatenate([starts, np.zeros(len(left), np.int64)]), mask=is_null)
    columns = {axis: pa.array(traffic.histogram.sizes[size_rows, i]) for i, axis in enumerate(traffic.axes)}
    columns[COUNT] = pa.array(np.concatenate([counts, untimed[left]]))
    columns[BUCKET_START] = times.cast(pa.timestamp("us", "UTC"))
    return pa.table(columns).replace_schema_metadata(_metadata(traffic))


def _timed(traffic: Traffic) -> tuple[Any, Any, Any]:
    if traffic.buckets is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((traffic.buckets.size_rows, traffic.buckets.starts_us))
    buckets = traffic.buckets
    return buckets.size_rows[order], buckets.starts_us[order], buckets.counts[order]


def _metadata(traffic: Traffic) -> dict[str, str]:
    rejected = {reason: [r.count, r.first_place] for reason, r in traffic.rejections.items()}
    metadata = {_MARK: _VERSION, _ROWS: str(traffic.row_count), _REJECTED: json.dumps(rejected)}
    if traffic.requests_axis is not None:
        metadata[_AXIS] = traffic.requests_axis
    if traffic.start is not None and traffic.end is not None:
        metadata[_SPAN] = json.dumps([microseconds(traffic.start), microseconds(traffic.end)])
    return metadata


def is_traffic_file(metadata: Mapping[str, str] | None) -> bool:
    return metadata is not None and _MARK in metadata


def account_of(name: str, metadata: Mapping[str, str]) -> TrafficAccount:
    """Raises DamagedFile for a version that we do not know and for metadata that cannot be read."""
    if metadata[_MARK] != _VERSION:
        raise DamagedFile(
            name, f"is a traffic file of version {metadata[_MARK][:20]}; version {_VERSION} is read"
        )
    try:
        rejected = json.loads(metadata.get(_REJECTED, "{}"))
        span = json.loads(metadata.get(_SPAN, "null"))
        account = TrafficAccount(
            int(metadata.get(_ROWS, "0")),
            {str(reason): Rejection(int(count), str(place)) for reason, (count, place) in rejected.items()},
            metadata.get(_AXIS),
            _span(span) if span else None,
        )
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise DamagedFile(name, "has the metadata of a traffic file, but they cannot be read") from error
    counts = [rejection.count for rejection in account.rejections.values()]
    if min(counts, default=0) < 0 or sum(counts) > account.row_count:
        raise DamagedFile(
            name, f"says that {sum(counts)} of {account.row_count} rows were rejected, which cannot be"
        )
    return account


def _span(ends: Sequence[Any]) -> tuple[int, int]:
    """Raises ValueError or OverflowError for times beyond the calendar."""
    first, last = (microseconds(to_datetime(int(end))) for end in ends)
    return first, last
