"""Brings a store to this version's schema: creates it, migrates an older one after a backup, refuses a newer.

Each step is one transaction; Alembic's operations make the changes and `tuner_alembic` holds the version.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)

from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.connecting import for_writing

if TYPE_CHECKING:
    from alembic.operations import Operations

_CREATION_LOCK = 7_303_014
"""Any number that nobody else in the database uses for an advisory lock."""


def prepare(engine: Engine) -> None:
    """Create or migrate the tables. Raises TunerError for a store of a newer schema."""
    with engine.connect() as connection:
        found = _version(connection)
    if found == tables.SCHEMA_VERSION:
        return
    if found is not None:
        _refuse_unknown(found)
    with for_writing(engine).begin() as connection:
        if connection.dialect.name == "postgresql":  # two jobs may open a new database at once
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})"))
        _bring_up(connection)


def _bring_up(connection: Connection) -> None:
    found = _version(connection)  # again, since another process may have been faster
    if found is None:
        tables.metadata.create_all(connection)
        connection.execute(insert(tables.version).values(version_num=tables.SCHEMA_VERSION))
        return
    if found != tables.SCHEMA_VERSION:
        # While we hold the lock nobody else writes, so that the copy is the store as it was.
        _back_up(connection.engine, found)
    while found != tables.SCHEMA_VERSION:
        from alembic.operations import Operations
        from alembic.runtime.migration import MigrationContext

        _refuse_unknown(found)
        context = MigrationContext.configure(connection, opts={"version_table": tables.version.name})
        found, step = MIGRATIONS[found]
        step(Operations(context))
        connection.execute(update(tables.version).values(version_num=found))


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(tables.version.name):
        return None
    found = connection.execute(select(tables.version.c.version_num)).scalar()
    return None if found is None else str(found)


def _refuse_unknown(found: str) -> None:
    if found not in MIGRATIONS:
        raise TunerError(
            f"store has schema version {found}, this tuner knows {tables.SCHEMA_VERSION}; "
            "use the tuner that wrote it, or another --store"
        )


def _back_up(engine: Engine, version: str) -> None:
    """Copy a SQLite file beside itself, whole or not at all; a server is its keepers' to copy."""
    name = engine.url.database
    if engine.dialect.name != "sqlite" or not name or name == ":memory:":
        return
    target = backup_path(Path(name), version)
    part = target.with_name(target.name + ".part")
    try:
        with closing(sqlite3.connect(name)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        os.replace(part, target)
    except (sqlite3.Error, OSError) as error:
        raise TunerError(
            f"store {name} has the older schema {version} and cannot be backed up to {target} ({error}); "
            "it was left as it is: make room, then run again"
        ) from error
    finally:
        if part.is_file():
            part.unlink()


def backup_path(database: Path, version: str) -> Path:
    """`tuner.db.schema1.bak`, with a number behind where that is taken."""
    first = database.with_name(f"{database.name}.schema{version}.bak")
    number, path = 2, first
    while path.exists():
        path = first.with_name(f"{first.name}.{number}")
        number += 1
    return path


def _to_2(operations: Operations) -> None:
    """History of traffic and documents; plans beyond 2 GiB and long names on servers that limit them."""
    connection = operations.get_bind()
    tables.metadata.create_all(connection, tables=[tables.traffic, tables.documents, tables.runs])
    if connection.dialect.name == "sqlite":
        return  # its columns hold numbers and texts of any length
    for column in ("plan_bytes", "device_memory_bytes"):
        operations.alter_column("tuner_builds", column, type_=BigInteger())
    operations.alter_column("tuner_builds", "name", type_=Text())
    operations.alter_column("tuner_measurements", "size", type_=Text())


def _to_3(operations: Operations) -> None:
    """What a build needed, what changes cost in its engine, utilisation, and contexts that share the GPU."""
    tables.metadata.create_all(operations.get_bind(), tables=[tables.contexts])
    operations.add_column("tuner_builds", Column("workspace_bytes", BigInteger))
    operations.add_column("tuner_builds", Column("timing_cache", Text))
    operations.add_column("tuner_builds", Column("size_change_ms", Float))
    operations.add_column("tuner_builds", Column("profile_change_ms", Float))
    operations.add_column("tuner_measurements", Column("utilisation", Float))


def _to_4(operations: Operations) -> None:
    """Without what changes cost, which was timed with much else in it; engines tell it when timed again."""
    operations.execute(update(tables.builds).values(size_change_ms=None, profile_change_ms=None))


MIGRATIONS: Mapping[str, tuple[str, Callable[[Operations], None]]] = {
    "1": ("2", _to_2),
    "2": ("3", _to_3),
    "3": ("4", _to_4),
}
"""For each older version the next one and the step to it."""
