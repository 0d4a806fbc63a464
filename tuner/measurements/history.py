"""History: every night's document with its decision and its traffic, appended to the store."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, delete, func, insert, select

from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.store import Store
from tuner.traffic.histogram import SizeHistogram


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One night. `decided_at` is ISO in UTC; `gain` and `shift` are shares, None where not known.

    `gain` is the challenger's over the deployed set. `build_count` and `gpu_s` are what the night itself
    built and the seconds that builds and measurements took, `wall_s` the whole run.
    """

    decided_at: str
    model_name: str | None
    decision: str
    reason: str
    gain: float | None
    shift: float | None
    build_count: int
    gpu_s: float
    wall_s: float
    document: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """Rows of the store at some moment, to tell later what came after."""

    build_id: int
    measurement_id: int


_COLUMNS = tuple(f.name for f in dataclasses.fields(HistoryEntry) if f.name != "number")


def mark(store: Store) -> Spent:
    """The store as it is now, for `spent_since`."""
    with store.reading() as connection:
        return Spent(_last(connection, tables.builds.c.id), _last(connection, tables.measurements.c.id))


def _last(connection: Connection, column: Column[Any]) -> int:
    return int(connection.execute(select(func.max(column))).scalar() or 0)


def spent_since(store: Store, before: Spent) -> tuple[int, float]:
    """Builds that were measured here since, and the seconds that building and timing took.

    Runs of other studies that share the store at the same time count along.
    """
    builds, measured = tables.builds.c, tables.measurements.c
    with store.reading() as connection:
        own = (builds.source == "measured") & (builds.id > before.build_id)
        count, build_s = connection.execute(
            select(func.count(), func.coalesce(func.sum(builds.build_s), 0.0)).where(own)
        ).one()
        timing_ms = connection.execute(
            select(func.coalesce(func.sum(measured.mean_ms * measured.sample_count), 0.0))
            .join(tables.builds, builds.id == measured.build_id)
            .where(builds.source == "measured", measured.id > before.measurement_id)
        ).scalar()
    return int(count), float(build_s) + float(timing_ms or 0.0) / 1000


def add_entry(store: Store, entry: HistoryEntry, traffic: SizeHistogram) -> int:
    """Append a night; returns its number. The same traffic is stored once."""

    def add(connection: Connection) -> int:
        row = {name: getattr(entry, name) for name in _COLUMNS}
        added = connection.execute(
            insert(tables.documents).values(**row, traffic_id=_traffic_id(connection, traffic))
        )
        assert added.inserted_primary_key is not None  # an insert into a table with a key gives it
        return int(added.inserted_primary_key[0])

    return store.write(add)


def _traffic_id(connection: Connection, traffic: SizeHistogram) -> int:
    sizes = np.ascontiguousarray(traffic.sizes, dtype="<i8").tobytes()
    counts = np.ascontiguousarray(traffic.counts, dtype="<i8").tobytes()
    axes = ",".join(traffic.axes)
    digest = hashlib.sha256(axes.encode() + b"\0" + sizes + b"\0" + counts).hexdigest()
    known = connection.execute(select(tables.traffic.c.id).where(tables.traffic.c.digest == digest)).scalar()
    if known is not None:
        return int(known)
    values = {"digest": digest, "axes": axes, "requests": traffic.request_count}
    added = connection.execute(insert(tables.traffic).values(**values, sizes=sizes, counts=counts))
    assert added.inserted_primary_key is not None
    return int(added.inserted_primary_key[0])


def drop_entry(store: Store, number: int) -> None:
    """Take a night out again whose document could not be put in place."""
    store.write(
        lambda connection: connection.execute(delete(tables.documents).where(tables.documents.c.id == number))
    )


def entries(store: Store) -> list[HistoryEntry]:
    """All nights in the order in which they were stored."""
    with store.reading() as connection:
        rows = connection.execute(select(tables.documents).order_by(tables.documents.c.id)).mappings()
        return [HistoryEntry(number=row["id"], **{name: row[name] for name in _COLUMNS}) for row in rows]


def entry(store: Store, number: int) -> HistoryEntry:
    """One night by its number. Raises TunerError for a number that is not there."""
    found: Sequence[HistoryEntry] = entries(store)
    for one in found:
        if one.number == number:
            return one
    known = f"{found[0].number} to {found[-1].number}" if found else "none yet"
    raise TunerError(f"store {store.shown_url}: has no night {number}; its nights are {known}")


def traffic_of(store: Store, number: int) -> SizeHistogram:
    """The whole traffic of a night."""
    with store.reading() as connection:
        row = connection.execute(
            select(tables.traffic)
            .join(tables.documents, tables.documents.c.traffic_id == tables.traffic.c.id)
            .where(tables.documents.c.id == number)
        ).mappings()
        found = row.one()
    axes = tuple(found["axes"].split(","))
    sizes = np.frombuffer(found["sizes"], dtype="<i8").reshape(-1, len(axes))
    return SizeHistogram(axes, sizes, np.frombuffer(found["counts"], dtype="<i8"))
