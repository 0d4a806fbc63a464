"""The store: every build and every timed size, appended at once, so that nothing is measured twice."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, Engine, RowMapping, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment, profiles_as_lists
from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.connecting import (
    DEFAULT_URL,
    WAIT_S,
    connect,
    for_writing,
    store_error,
    url_without_password,
)
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode, Summary, is_contended
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.migrations import prepare
from tuner.model import Model
from tuner.model_inputs import inputs_as_json, model_from_metadata
from tuner.profiles.profile import OptimizationProfile, ProfileSet

_ATTEMPTS = 3

Result = TypeVar("Result")

_ENVIRONMENT = ("gpu", "tensorrt", "flavour", "driver", "cuda", "clock_policy")
_ENGINE = (
    *("name", "repeat", "outcome", "reason", "build_s", "plan_bytes", "device_memory_bytes"),
    *("plan_digest", "workspace_bytes", "timing_cache", "size_change_ms", "profile_change_ms"),
    *("measured_on", "source"),
)
_SUMMARY = tuple(f.name for f in dataclasses.fields(Summary))
_TIMES = ("first_run_ms", "h2d_ms", "d2h_ms", "enqueue_ms", "utilisation")


class Store:
    """Builds and measurements behind a SQLAlchemy URL; close it, or use it as a context manager."""

    def __init__(self, engine: Engine, url: str) -> None:
        self._engine = engine
        self.url = url

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads; a database's error becomes a TunerError."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise store_error(self.url, error) from error

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work in one transaction: all of it is stored, or nothing.

        The work is done again where the server went away in its middle or another run stored the same row
        at the same moment, so it has to look before it inserts.
        """
        for attempt in range(_ATTEMPTS):
            try:
                with for_writing(self._engine).begin() as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                lost = isinstance(error, DBAPIError) and error.connection_invalidated
                again = lost or isinstance(error, IntegrityError)
                if not again or attempt == _ATTEMPTS - 1:
                    raise store_error(self.url, error) from error
        raise AssertionError("the last attempt returns or raises")

    def add_engine(self, model: Model, engine: BuiltEngine, measurements: Sequence[Measurement] = ()) -> None:
        """Append one build's outcome and, at the same moment, what was measured of it already.

        The same spec and repeat stored before is kept as it was.
        """
        row = {
            "key": engine.spec.key,
            "model_name": model.name,
            "model_inputs": inputs_as_json(model),
            "model_hash": engine.spec.model_hash,
            "profiles": json.dumps(profiles_as_lists(engine.spec.profiles)),
            "precision": engine.spec.precision,
            "builder_options": engine.spec.builder_options,
            **{name: getattr(engine.spec.environment, name) for name in _ENVIRONMENT},
            **{name: getattr(engine, name) for name in _ENGINE},
        }
        if engine.reason is not None:  # a server's text cannot hold what a crashing child may print
            row["reason"] = engine.reason.replace("\0", "")

        def add(connection: Connection) -> None:
            if _found_build(connection, engine.spec.key, engine.repeat) is None:
                connection.execute(insert(tables.builds).values(row))
            if measurements:
                self._add_measurements(connection, (engine.spec.key, engine.repeat), measurements)

        self.write(add)

    def add_measurements(self, key: str, repeat: int, measurements: Sequence[Measurement]) -> int:
        """Append timed sizes of one build; returns how many were new.

        Those stored before are kept, unless they were disturbed by others and the new ones were not.
        """

        return self.write(lambda connection: self._add_measurements(connection, (key, repeat), measurements))

    def _add_measurements(
        self, connection: Connection, build: tuple[str, int], measurements: Sequence[Measurement]
    ) -> int:
        build_id = self._build_id(connection, *build)
        known = _known_places(connection, build_id)
        better = [m for m in measurements if known.get(_place(m)) and not m.is_contended]
        _forget(connection, build_id, {_place(m) for m in better})
        new = [*better, *(m for m in measurements if _place(m) not in known)]
        _insert_measurements(connection, build_id, new)
        return len(new)

    def add_switch_costs(self, key: str, repeat: int, costs: SwitchCosts) -> None:
        """Keep what changes cost in one build's engine; what these costs do not know stays as it was."""
        told = {"size_change_ms": costs.size_ms, "profile_change_ms": costs.profile_ms}
        known = {name: value for name, value in told.items() if value is not None}

        def add(connection: Connection) -> None:
            build_id = self._build_id(connection, key, repeat)
            if known:
                changed = update(tables.builds).where(tables.builds.c.id == build_id)
                connection.execute(changed.values(known))

        self.write(add)

    def _build_id(self, connection: Connection, key: str, repeat: int) -> int:
        found = _found_build(connection, key, repeat)
        if found is None:
            raise TunerError(f"store {self.shown_url}: build {key} ({repeat}) is unknown; store it first")
        return found

    def engines(self, model_hash: str | None = None) -> list[BuiltEngine]:
        """All builds in the order in which they were stored, of one model where its hash is given.

        A hash matches when either is a prefix of the other: recorded files may hold only a prefix.
        """
        with self.reading() as connection:
            rows = connection.execute(select(tables.builds).order_by(tables.builds.c.id)).mappings()
            return [
                _engine(row) for row in rows if model_hash is None or same_hash(row["model_hash"], model_hash)
            ]

    def models(self) -> list[Model]:
        """The distinct models in the store, in the order in which they were first stored."""
        with self.reading() as connection:
            columns = (tables.builds.c.model_name, tables.builds.c.model_inputs, tables.builds.c.model_hash)
            rows = connection.execute(select(*columns).order_by(tables.builds.c.id))
            distinct = dict.fromkeys((str(n), str(i), str(h)) for n, i, h in rows)
        return [model_from_metadata(*described) for described in distinct]

    def measurements(self, key: str, repeat: int) -> list[Measurement]:
        """All timed sizes of one build in the order in which they were stored, with raw samples."""
        with self.reading() as connection:
            rows = connection.execute(
                select(tables.measurements, tables.samples.c.samples_ms)
                .outerjoin(tables.samples, tables.samples.c.measurement_id == tables.measurements.c.id)
                .where(tables.measurements.c.build_id == self._build_id(connection, key, repeat))
                .order_by(tables.measurements.c.id)
            ).mappings()
            return [_measurement(row) for row in rows]

    def counts(self, model_hash: str | None) -> tuple[int, int]:
        """How many builds and how many measurements there are of a model."""
        with self.reading() as connection:
            rows = connection.execute(select(tables.builds.c.id, tables.builds.c.model_hash))
            ids = [i for i, known in rows if model_hash is None or same_hash(known, model_hash)]
            counted = select(func.count()).select_from(tables.measurements)
            found = connection.execute(counted.where(tables.measurements.c.build_id.in_(ids))).scalar()
        return len(ids), int(found or 0)

    @property
    def shown_url(self) -> str:
        return url_without_password(self.url)


_PLACE = ("profile_index", "size", "mode", "input_fill")


def _place(measurement: Measurement) -> tuple[int, str, str, str]:
    """What no two measurements of one build share."""
    return (
        measurement.profile_index,
        str(measurement.size),
        measurement.mode.value,
        measurement.input_fill,
    )


def _found_build(connection: Connection, key: str, repeat: int) -> int | None:
    found = connection.execute(
        select(tables.builds.c.id).where(tables.builds.c.key == key, tables.builds.c.repeat == repeat)
    ).scalar()
    return None if found is None else int(found)


def _known_places(connection: Connection, build_id: int) -> dict[tuple[Any, ...], bool]:
    """The places that are stored, and whether each was disturbed by others."""
    columns = [tables.measurements.c[name] for name in (*_PLACE, "caveats")]
    rows = connection.execute(select(*columns).where(tables.measurements.c.build_id == build_id))
    return {tuple(row[:-1]): is_contended(json.loads(row[-1])) for row in rows}


def _forget(connection: Connection, build_id: int, places: set[tuple[Any, ...]]) -> None:
    for place in places:
        same = [tables.measurements.c[name] == part for name, part in zip(_PLACE, place, strict=True)]
        chosen = select(tables.measurements.c.id).where(tables.measurements.c.build_id == build_id, *same)
        connection.execute(delete(tables.samples).where(tables.samples.c.measurement_id.in_(chosen)))
        connection.execute(delete(tables.measurements).where(tables.measurements.c.id.in_(chosen)))


def _insert_measurements(connection: Connection, build_id: int, measurements: Sequence[Measurement]) -> None:
    rows = [
        {
            "build_id": build_id,
            **dict(zip(_PLACE, _place(measurement), strict=True)),
            **{name: getattr(measurement.summary, name) for name in _SUMMARY},
            **{name: getattr(measurement, name) for name in _TIMES},
            "caveats": json.dumps(measurement.caveats),
        }
        for measurement in measurements
    ]
    if not any(m.samples_ms for m in measurements):
        if rows:
            connection.execute(insert(tables.measurements), rows)
        return
    for row, measurement in zip(rows, measurements, strict=True):
        added = connection.execute(insert(tables.measurements).values(row))
        assert added.inserted_primary_key is not None  # an insert into a table with a key gives it
        raw = np.array(measurement.samples_ms, dtype="<f8").tobytes()
        place = {"measurement_id": added.inserted_primary_key[0], "samples_ms": raw}
        connection.execute(insert(tables.samples).values(place))


def _engine(row: RowMapping) -> BuiltEngine:
    profiles = tuple(
        OptimizationProfile(*(Size.of(**described[bound]) for bound in ("min", "opt", "max")))
        for described in json.loads(row["profiles"])
    )
    spec = EngineSpec(
        model_hash=row["model_hash"],
        profiles=ProfileSet(profiles),
        precision=row["precision"],
        builder_options=row["builder_options"],
        environment=Environment(**{name: row[name] for name in _ENVIRONMENT}),
    )
    return BuiltEngine(spec=spec, **{name: row[name] for name in _ENGINE})


def _measurement(row: RowMapping) -> Measurement:
    raw = row["samples_ms"]
    times: dict[str, Any] = {name: row[name] for name in _TIMES}
    return Measurement(
        profile_index=row["profile_index"],
        size=Size.parse(row["size"]),
        mode=Mode(row["mode"]),
        input_fill=row["input_fill"],
        summary=Summary(**{name: row[name] for name in _SUMMARY}),
        samples_ms=tuple(np.frombuffer(raw, dtype="<f8").tolist()) if raw else (),
        caveats=tuple(json.loads(row["caveats"])),
        **times,
    )


def same_hash(one: str, other: str) -> bool:
    """True when one hash is a prefix of the other."""
    return bool(one) and bool(other) and (one.startswith(other) or other.startswith(one))


def open_store(url: str = DEFAULT_URL, wait_s: float = WAIT_S) -> Store:
    """Open the store, creating its tables in a new database and migrating those of an older schema.

    A write waits up to `wait_s` seconds for another process' lock, a connection for a server that is away.
    Raises TunerError for a URL that cannot be read, a missing driver, a database that cannot be opened or
    is damaged, and a store of a newer schema.
    """
    engine = connect(url, wait_s)
    store = Store(engine, url)
    try:
        prepare(engine)
    except SQLAlchemyError as error:
        store.close()
        raise store_error(url, error) from error
    except TunerError:
        store.close()
        raise
    return store
