"""The store: every build and every timed size, appended at once, so that nothing is measured twice."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, RowMapping, create_engine, event, insert, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment, profiles_as_lists
from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode, Summary
from tuner.model import Model
from tuner.model_inputs import inputs_as_json, model_from_metadata
from tuner.profiles.profile import OptimizationProfile, ProfileSet

DEFAULT_URL = "sqlite:///tuner.db"
LOCK_WAIT_S = 30
"""How long a write waits for another process before the store counts as locked."""

_ENVIRONMENT = ("gpu", "tensorrt", "flavour", "driver", "cuda", "clock_policy")
_ENGINE = (
    *("name", "repeat", "outcome", "reason", "build_s", "plan_bytes", "device_memory_bytes"),
    *("plan_digest", "measured_on", "source"),
)
_SUMMARY = tuple(f.name for f in dataclasses.fields(Summary))
_TIMES = ("first_run_ms", "h2d_ms", "d2h_ms", "enqueue_ms")


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
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise  # two runs stored the same thing at once; the caller decides
        except SQLAlchemyError as error:
            raise _store_error(self.url, error) from error

    def add_engine(self, model: Model, engine: BuiltEngine) -> None:
        """Append one build's outcome. The same spec and repeat stored before is kept as it was."""
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
        try:
            with self._transaction() as connection:
                connection.execute(insert(tables.builds).values(row))
        except IntegrityError:
            return

    def add_measurements(self, key: str, repeat: int, measurements: Sequence[Measurement]) -> int:
        """Append timed sizes of one build; those stored before are kept. Returns how many were new."""
        with self._transaction() as connection:
            build_id = self._build_id(connection, key, repeat)
            known = {
                tuple(row)
                for row in connection.execute(
                    select(*(tables.measurements.c[name] for name in _PLACE)).where(
                        tables.measurements.c.build_id == build_id
                    )
                )
            }
            new = [m for m in measurements if _place(m) not in known]
            _insert_measurements(connection, build_id, new)
        return len(new)

    def _build_id(self, connection: Connection, key: str, repeat: int) -> int:
        found = connection.execute(
            select(tables.builds.c.id).where(tables.builds.c.key == key, tables.builds.c.repeat == repeat)
        ).scalar()
        if found is None:
            raise TunerError(f"store {self.shown_url}: build {key} ({repeat}) is unknown; store it first")
        return int(found)

    def engines(self, model_hash: str | None = None) -> list[BuiltEngine]:
        """All builds in the order in which they were stored, of one model where its hash is given.

        A hash matches when either is a prefix of the other: recorded files may hold only a prefix.
        """
        with self._transaction() as connection:
            rows = connection.execute(select(tables.builds).order_by(tables.builds.c.id)).mappings()
            return [
                _engine(row) for row in rows if model_hash is None or same_hash(row["model_hash"], model_hash)
            ]

    def models(self) -> list[Model]:
        """The distinct models in the store, in the order in which they were first stored."""
        with self._transaction() as connection:
            columns = (tables.builds.c.model_name, tables.builds.c.model_inputs, tables.builds.c.model_hash)
            rows = connection.execute(select(*columns).order_by(tables.builds.c.id))
            distinct = dict.fromkeys((str(n), str(i), str(h)) for n, i, h in rows)
        return [model_from_metadata(*described) for described in distinct]

    def measurements(self, key: str, repeat: int) -> list[Measurement]:
        """All timed sizes of one build in the order in which they were stored, with raw samples."""
        with self._transaction() as connection:
            rows = connection.execute(
                select(tables.measurements, tables.samples.c.samples_ms)
                .outerjoin(tables.samples, tables.samples.c.measurement_id == tables.measurements.c.id)
                .where(tables.measurements.c.build_id == self._build_id(connection, key, repeat))
                .order_by(tables.measurements.c.id)
            ).mappings()
            return [_measurement(row) for row in rows]

    @property
    def shown_url(self) -> str:
        return make_url(self.url).render_as_string(hide_password=True)


_PLACE = ("profile_index", "size", "mode", "input_fill")


def _place(measurement: Measurement) -> tuple[int, str, str, str]:
    """What no two measurements of one build share."""
    return (
        measurement.profile_index,
        str(measurement.size),
        measurement.mode.value,
        measurement.input_fill,
    )


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


def open_store(url: str = DEFAULT_URL) -> Store:
    """Open the store, creating its tables in a new database.

    Raises TunerError for a URL that cannot be read, a missing driver, a database that cannot be opened or
    is damaged, and a store of a newer schema.
    """
    try:
        engine = create_engine(url, connect_args=_connect_args(url))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise TunerError(
            f"store '{_without_password(url)}': cannot be used ({error}); write it like {DEFAULT_URL} or "
            "postgresql+psycopg://user@host/database (extra 'postgres')"
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _enforce_foreign_keys)
    store = Store(engine, url)
    try:
        _prepare(engine)
    except SQLAlchemyError as error:
        store.close()
        raise _store_error(url, error) from error
    except TunerError:
        store.close()
        raise
    return store


def _connect_args(url: str) -> dict[str, Any]:
    return {"timeout": LOCK_WAIT_S} if url.startswith("sqlite") else {}


def _enforce_foreign_keys(connection: Any, record: object) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def _prepare(engine: Engine) -> None:
    with engine.begin() as connection:
        if inspect(connection).has_table(tables.version.name):
            found = connection.execute(select(tables.version.c.version_num)).scalar()
            if found != tables.SCHEMA_VERSION:
                raise TunerError(
                    f"store has schema version {found}, this tuner knows {tables.SCHEMA_VERSION}; "
                    "use the tuner that wrote it, or another --store"
                )
            tables.metadata.create_all(connection)  # tables that came later, which need no migration
            return
        tables.metadata.create_all(connection)
        connection.execute(insert(tables.version).values(version_num=tables.SCHEMA_VERSION))


def _store_error(url: str, error: SQLAlchemyError) -> TunerError:
    cause = str(getattr(error, "orig", None) or error).splitlines()[0]
    hint = "give another --store, or restore it from a backup"
    if "locked" in cause:
        hint = f"another process held it for more than {LOCK_WAIT_S} s; try again when it has ended"
    if "unable to open" in cause or "readonly" in cause:
        hint = "its folder must exist and be writable; choose another with --store"
    return TunerError(f"store {_without_password(url)}: {cause}; {hint}")


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url.partition("://")[0] + "://..."
