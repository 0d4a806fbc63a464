"""How execution contexts share the GPU: timed once for an engine, stored, and read back as total rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, RowMapping, insert, select

from tuner.axes import Size
from tuner.measurements import tables
from tuner.measurements.measurement import BuiltEngine
from tuner.measurements.runner import ContextsTiming
from tuner.measurements.source import SourceFacts
from tuner.measurements.store import Store, same_hash

_TIMES = ("contexts", "p50_ms", "p99_ms", "inferences_per_s")


def add_contexts(store: Store, engine: BuiltEngine, size: Size, timings: Sequence[ContextsTiming]) -> None:
    """Append how a size fares in so many contexts of an engine; what is stored already is kept."""

    def add(connection: Connection) -> None:
        known = {row["contexts"] for row in _rows_of(connection, engine, size)}
        build_id = connection.execute(
            select(tables.builds.c.id).where(
                tables.builds.c.key == engine.spec.key, tables.builds.c.repeat == engine.repeat
            )
        ).scalar_one()
        new = [{name: getattr(t, name) for name in _TIMES} for t in timings if t.contexts not in known]
        if new:
            rows = [{"build_id": build_id, "size": str(size), **row} for row in new]
            connection.execute(insert(tables.contexts), rows)

    store.write(add)


def stored_contexts(store: Store, engine: BuiltEngine, size: Size) -> list[ContextsTiming]:
    """What is stored of a size in an engine, by number of contexts."""
    with store.reading() as connection:
        return [_timing(row) for row in _rows_of(connection, engine, size)]


def stored_rates(store: Store, model_hash: str | None, facts: SourceFacts) -> tuple[float, ...] | None:
    """Total rate of the GPU with 1, 2, ... contexts, one alone being 1; None where it was not measured.

    Taken is the newest engine of the model that was made like those of the facts and timed alone and in
    several contexts; between timed numbers of contexts the rate is interpolated.
    """
    columns = (*(tables.contexts.c[name] for name in (*_TIMES, "size", "build_id")), *_making_columns())
    with store.reading() as connection:
        found = connection.execute(
            select(*columns)
            .join(tables.builds, tables.builds.c.id == tables.contexts.c.build_id)
            .order_by(tables.contexts.c.id)
        ).mappings()
        fitting = [row for row in found if _is_like(row, model_hash, facts)]
    curves: dict[tuple[int, str], dict[int, float]] = {}
    for row in fitting:
        curve = curves.setdefault((row["build_id"], row["size"]), {})
        curve[row["contexts"]] = row["inferences_per_s"]
    usable = [curve for curve in curves.values() if 1 in curve and len(curve) > 1]
    return _rates(usable[-1]) if usable else None


def _rates(by_contexts: dict[int, float]) -> tuple[float, ...]:
    counts = sorted(by_contexts)
    rates = [by_contexts[count] / by_contexts[1] for count in counts]
    return tuple(float(r) for r in np.interp(np.arange(1, counts[-1] + 1), counts, rates))


_MAKING = ("gpu", "tensorrt", "flavour", "driver", "cuda", "clock_policy")


def _making_columns() -> list[Column[Any]]:
    return [tables.builds.c[name] for name in (*_MAKING, "model_hash", "precision", "builder_options")]


def _is_like(row: RowMapping, model_hash: str | None, facts: SourceFacts) -> bool:
    own = (row["precision"], row["builder_options"], *(row[name] for name in _MAKING))
    environment = (getattr(facts.environment, name) for name in _MAKING)
    wanted = (facts.precision, facts.builder_options, *environment)
    return same_hash(row["model_hash"], model_hash or "") and own == wanted


def _rows_of(connection: Connection, engine: BuiltEngine, size: Size) -> list[RowMapping]:
    found = connection.execute(
        select(tables.contexts)
        .join(tables.builds, tables.builds.c.id == tables.contexts.c.build_id)
        .where(tables.builds.c.key == engine.spec.key, tables.builds.c.repeat == engine.repeat)
        .where(tables.contexts.c.size == str(size))
        .order_by(tables.contexts.c.contexts)
    )
    return list(found.mappings())


def _timing(row: RowMapping) -> ContextsTiming:
    return ContextsTiming(**{name: row[name] for name in _TIMES})
