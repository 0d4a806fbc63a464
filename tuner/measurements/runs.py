"""Runs and what they hold: one run at a time works on a study, and the dead ones are known as such.

A run says every few seconds that it is alive. It counts as dead when its process is gone (on the host it
ran on) or when it has not been heard of for `SILENT_S`.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from tuner.errors import TunerError
from tuner.measurements import tables

HEARTBEAT_S = 15.0
SILENT_S = 180.0
PAUSE_S = 1.0
"""Between two looks at whether the run that is waited for has ended."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process that works on a study; `last_seen_s` are seconds since the epoch.

    `process` tells a process from a later one with the same number: its start as Linux counts it, empty
    where that is not known.
    """

    run_id: str
    study: str
    host: str
    pid: int
    process: str
    last_seen_s: float

    def is_alive(self, now_s: float) -> bool:
        if self.host == socket.gethostname() and _process_start(self.pid) != self.process:
            return False
        return now_s - self.last_seen_s < SILENT_S

    def __str__(self) -> str:
        seen = datetime.datetime.fromtimestamp(self.last_seen_s, datetime.UTC)
        return f"process {self.pid} on {self.host}, last seen {seen:%Y-%m-%d %H:%M:%S} UTC"


def _process_start(pid: int) -> str | None:
    """When a process started, in ticks since boot; empty if that is not known, None if there is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # it lives, under another user
    try:
        # The second field is the command in brackets, which may hold spaces; the 22nd is the start.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _now_s() -> float:
    return datetime.datetime.now(datetime.UTC).timestamp()


@contextmanager
def holding_study(engine: Engine, study: str, *, waits: bool = False) -> Iterator[Run]:
    """Hold a study as long as the block runs; the database is told at intervals that we are alive.

    Where a living run holds it, wait until it has ended, or raise TunerError. A dead run's claim is taken
    over.
    """
    pid = os.getpid()
    run = Run(uuid.uuid4().hex, study, socket.gethostname(), pid, _process_start(pid) or "", _now_s())
    tables.runs.create(engine, checkfirst=True)
    while (holder := _claim(engine, run)) is not None:
        if not waits:
            raise TunerError(_held(holder))
        time.sleep(PAUSE_S)
        run = dataclasses.replace(run, last_seen_s=_now_s())
    ended = threading.Event()
    heart = threading.Thread(target=_beat, args=(engine, run, ended), daemon=True)
    heart.start()
    try:
        yield run
    finally:
        ended.set()
        heart.join()
        # Where the database is gone the claim stays, and counts as dead from now on.
        with suppress(SQLAlchemyError), engine.begin() as connection:
            connection.execute(delete(tables.runs).where(tables.runs.c.run_id == run.run_id))


def _claim(engine: Engine, run: Run) -> Run | None:
    """Take the study, or return the living run that holds it."""
    try:
        with engine.begin() as connection:
            holder = run_on(connection, run.study)
            if holder is not None and holder.is_alive(run.last_seen_s):
                return holder
            if holder is not None:
                connection.execute(delete(tables.runs).where(tables.runs.c.run_id == holder.run_id))
            # The study is unique in the table: of two that come this far at once, one fails here.
            connection.execute(insert(tables.runs).values(**dataclasses.asdict(run)))
    except IntegrityError:
        with engine.connect() as connection:
            holder = run_on(connection, run.study)
        return holder or _claim(engine, run)  # the one that was faster may have ended already
    return None


def _held(holder: Run) -> str:
    return (
        f"another run works on this very study ({holder}); wait for it with --wait, or ask for another one "
        "with --seed or --store"
    )


def run_on(connection: Connection, study: str) -> Run | None:
    """The run that holds a study, alive or dead."""
    row = connection.execute(select(tables.runs).where(tables.runs.c.study == study)).mappings().first()
    if row is None:
        return None
    return Run(row["run_id"], row["study"], row["host"], row["pid"], row["process"], row["last_seen_s"])


def _beat(engine: Engine, run: Run, ended: threading.Event) -> None:
    if engine.url.database in (None, "", ":memory:"):
        return  # nobody else can see this database
    while not ended.wait(HEARTBEAT_S):
        try:
            with engine.begin() as connection:
                alive = update(tables.runs).where(tables.runs.c.run_id == run.run_id)
                connection.execute(alive.values(last_seen_s=_now_s()))
        except SQLAlchemyError:
            continue  # a locked store is tried again at the next beat; the run itself will meet the error
