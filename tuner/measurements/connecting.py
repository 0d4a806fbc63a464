"""Connects to the store's database: waits for locks and lost servers, and says in one line what is wrong.

A SQLite file is written by one process at a time and others wait; a server that goes away is waited for, so
that a night survives its restart. Passwords of URLs never reach a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from tuner.errors import TunerError

DEFAULT_URL = "sqlite:///tuner.db"
WAIT_S = 30.0
"""How long a write waits for another process' lock, and a connection for a server that is away."""
_PAUSE_S = 0.25
_HIDDEN = "***"
_WRITES = {"tuner_writes": True}

_HINTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("is locked",), "another process holds it; try again when that has ended"),
    (("unable to open", "readonly", "read-only"), "its folder must exist and be writable"),
    (("is full", "No space left", "disk I/O error"), "what was stored is intact; make room and run again"),
    (
        ("malformed", "not a database"),
        "the file is damaged; move it away and restore a backup, or start anew with another --store",
    ),
    (
        ("connection", "refused", "terminating", "closed the"),
        "the database server cannot be reached; run again when it is back, what was stored is kept",
    ),
)  # fmt: skip


def connect(url: str, wait_s: float = WAIT_S) -> Engine:
    """An engine for the URL, not yet connected.

    Raises TunerError for a URL that cannot be read and for a driver that is not installed.
    """
    try:
        engine = create_engine(url, **engine_options(url, wait_s))
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, ValueError) as error:
        raise TunerError(
            f"store '{url_without_password(url)}': cannot be used ({error}); write it like {DEFAULT_URL} or "
            "postgresql+psycopg://user@host/database (extra 'postgres')"
        ) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        wait_for_server(engine, wait_s)
    return engine


def engine_options(url: str, wait_s: float = WAIT_S) -> dict[str, Any]:
    """Options of `create_engine` with which Optuna's storage and ours behave alike."""
    if url.startswith("sqlite"):
        return {"connect_args": {"timeout": wait_s}}
    return {"pool_pre_ping": True, "connect_args": {"connect_timeout": 10}}


def wait_for_server(engine: Engine, wait_s: float = WAIT_S) -> None:
    """From now on a new connection of this engine waits while the server is away."""

    def do_connect(dialect: Any, record: object, arguments: Any, options: Mapping[str, Any]) -> Any:
        return _patiently(lambda: dialect.connect(*arguments, **options), dialect.loaded_dbapi, wait_s)

    event.listen(engine, "do_connect", do_connect)


def _patiently(open_connection: Callable[[], Any], dbapi: Any, wait_s: float) -> Any:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return open_connection()
        except dbapi.OperationalError as error:
            # A wrong password or database will not become right by waiting.
            final = any(word in str(error) for word in ("password", "does not exist", "authentication"))
            if final or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE_S)


def _prepare_sqlite(connection: Any, record: object) -> None:
    # The driver must not begin transactions by itself, or tables are made outside of them.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    # A write takes the lock at its start: one that reads first and then writes could not wait for it.
    writes = connection.get_execution_options().get("tuner_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def for_writing(engine: Engine) -> Engine:
    """The same pool of connections, whose transactions lock a SQLite file from their beginning."""
    return engine.execution_options(**_WRITES)


def store_error(url: str, error: Exception) -> TunerError:
    """A database's error in one line, with what to do about it."""
    text = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    cause = text.splitlines()[0]
    hint = next((h for words, h in _HINTS if any(word in text for word in words)), None)
    hint = hint or "give another --store, or restore it from a backup"
    return TunerError(f"store {url_without_password(url)}: {cause}; {hint}")


def url_without_password(url: str) -> str:
    """The URL as it may be shown, wherever the password stands in it."""
    try:
        parsed = make_url(url)
        query = {key: _HIDDEN if "pass" in key else value for key, value in parsed.query.items()}
        return parsed.set(query=query).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return f"{url.partition('://')[0]}://..." if "://" in url else "..." if "@" in url else url
