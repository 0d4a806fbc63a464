"""Locks, damage and passwords: what the store says and what it waits for."""

from __future__ import annotations

import dataclasses
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.measurements.recorded_files import MODEL, engine
from tuner.errors import TunerError
from tuner.measurements.connecting import url_without_password
from tuner.measurements.store import open_store

HOLD = (
    "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1], isolation_level=None); "
    "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); time.sleep(float(sys.argv[2])); "
    "c.execute('ROLLBACK')"
)


@contextmanager
def held(path: Path, seconds: float) -> Iterator[None]:
    """Another process holds the file's lock for so long."""
    command = [sys.executable, "-c", HOLD, str(path), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        try:
            yield
        finally:
            holder.kill()


def test_a_write_waits_for_another_process_lock(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/t.db", wait_s=20) as store, held(tmp_path / "t.db", 1.0):
        store.add_engine(MODEL, engine(4).engine)
        assert len(store.engines()) == 1


def test_a_lock_that_is_never_given_back_is_an_error_that_names_the_store(tmp_path: Path) -> None:
    # Whoever waited until the lock is given back would see no error.
    with (
        open_store(f"sqlite:///{tmp_path}/t.db", wait_s=0.3) as store,
        held(tmp_path / "t.db", 60),
        pytest.raises(TunerError, match=r"t\.db: database is locked; another process holds it"),
    ):
        store.add_engine(MODEL, engine(4).engine)


def damaged(path: Path, keep: int) -> None:
    """The first bytes stay, pages behind them are overwritten: what a broken disk leaves."""
    with open_store(f"sqlite:///{path}") as store:
        recorded = engine(4)
        for repeat in range(40):
            store.add_engine(MODEL, dataclasses.replace(recorded.engine, repeat=repeat))
            store.add_measurements(recorded.engine.spec.key, repeat, recorded.measurements)
    content = bytearray(path.read_bytes())
    content[keep:] = b"\xde\xad\xbe\xef" * ((len(content) - keep) // 4)
    path.write_bytes(content)


@pytest.mark.parametrize("keep", [0, 100, 4096, 20_000])
def test_a_damaged_store_is_one_clear_error_and_is_not_touched(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "t.db"
    damaged(path, keep)
    before = path.read_bytes()

    def read_all() -> None:
        with open_store(f"sqlite:///{path}") as store:
            for one in store.engines():
                store.measurements(one.spec.key, one.repeat)

    with pytest.raises(TunerError, match=r"t\.db: .*(malformed|not a database).*the file is damaged"):
        read_all()
    assert path.read_bytes() == before


def test_a_file_cut_in_half_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    damaged(path, 10**9)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    def read_all() -> None:
        with open_store(f"sqlite:///{path}") as store:
            for one in store.engines():
                store.measurements(one.spec.key, one.repeat)

    with pytest.raises(TunerError, match="malformed"):
        read_all()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:secret@host/db",
        "postgresql+psycopg://host/db?user=me&password=secret",
        "postgresql+psycopg://host/db?passfile=secret",
        "nonsense://me:secret@host",
        "//me:secret@host:port:port",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    assert "secret" not in url_without_password(url)


def test_a_write_is_whole_or_not_there(tmp_path: Path) -> None:
    recorded = engine(4)
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        store.add_engine(MODEL, recorded.engine)
        broken = sqlite3.connect(tmp_path / "t.db")
        broken.execute(
            "create trigger full after insert on tuner_measurements when new.id > 2 begin "
            "select raise(abort, 'database or disk is full'); end"
        )
        broken.commit()
        broken.close()
        with pytest.raises(TunerError, match="disk is full; what was stored is intact; make room"):
            store.add_measurements(recorded.engine.spec.key, 0, recorded.measurements)
        assert store.measurements(recorded.engine.spec.key, 0) == []
