"""Stores of other schemas: an older one is migrated after a backup, a newer one refused."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import inspect

from tests.measurements.recorded_files import MODEL, engine
from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.connecting import connect
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.store import open_store

NEW_IN_2 = ("tuner_runs", "tuner_traffic", "tuner_documents")
COLUMNS_NEW_IN_3 = {
    "tuner_builds": ("workspace_bytes", "timing_cache", "size_change_ms", "profile_change_ms"),
    "tuner_measurements": ("utilisation",),
}


def old_store(path: Path) -> None:
    """A store as version 1 wrote it: without the newer tables, with an engine in it."""
    with open_store(f"sqlite:///{path}") as store:
        store.add_engine(MODEL, engine(4).engine)
    raw = sqlite3.connect(path)
    for name in ("tuner_documents", "tuner_traffic", "tuner_runs", "tuner_contexts"):
        raw.execute(f"drop table {name}")
    drop_what_is_new_in_3(raw)
    raw.execute("update tuner_alembic set version_num = '1'")
    raw.commit()
    raw.close()


def drop_what_is_new_in_3(raw: sqlite3.Connection) -> None:
    for table, columns in COLUMNS_NEW_IN_3.items():
        for column in columns:
            raw.execute(f"alter table {table} drop column {column}")


def version(path: Path) -> str:
    raw = sqlite3.connect(path)
    found = raw.execute("select version_num from tuner_alembic").fetchone()[0]
    raw.close()
    return str(found)


def test_an_older_store_is_migrated_and_nothing_is_lost(tmp_path: Path) -> None:
    old_store(tmp_path / "t.db")
    with open_store(f"sqlite:///{tmp_path}/t.db") as store:
        assert [e.name for e in store.engines()] == ["opt4"]
    names = inspect(connect(f"sqlite:///{tmp_path}/t.db")).get_table_names()
    assert set(NEW_IN_2) < set(names)
    assert version(tmp_path / "t.db") == tables.SCHEMA_VERSION


def test_a_store_of_version_2_keeps_its_measurements_and_takes_what_is_new(tmp_path: Path) -> None:
    recorded, url = engine(4), f"sqlite:///{tmp_path}/t.db"
    with open_store(url) as store:
        store.add_engine(MODEL, recorded.engine)
        store.add_measurements(recorded.engine.spec.key, 0, recorded.measurements)
    raw = sqlite3.connect(tmp_path / "t.db")
    raw.execute("drop table tuner_contexts")
    drop_what_is_new_in_3(raw)
    raw.execute("update tuner_alembic set version_num = '2'")
    raw.commit()
    raw.close()
    with open_store(url) as store:
        assert store.engines() == [recorded.engine]
        assert store.measurements(recorded.engine.spec.key, 0) == list(recorded.measurements)
        store.add_switch_costs(recorded.engine.spec.key, 0, SwitchCosts(size_ms=0.1, profile_ms=0.2))
        assert [e.profile_change_ms for e in store.engines()] == [0.2]
    assert inspect(connect(url)).has_table("tuner_contexts")
    assert version(tmp_path / "t.db") == tables.SCHEMA_VERSION
    assert version(tmp_path / "t.db.schema2.bak") == "2"


def test_costs_of_changes_that_were_timed_wrongly_are_dropped(tmp_path: Path) -> None:
    recorded, url = engine(4), f"sqlite:///{tmp_path}/t.db"
    with open_store(url) as store:
        store.add_engine(MODEL, recorded.engine)
        store.add_switch_costs(recorded.engine.spec.key, 0, SwitchCosts(size_ms=0.16, profile_ms=0.18))
    raw = sqlite3.connect(tmp_path / "t.db")
    raw.execute("update tuner_alembic set version_num = '3'")
    raw.commit()
    raw.close()
    with open_store(url) as store:
        assert [(e.size_change_ms, e.profile_change_ms) for e in store.engines()] == [(None, None)]
    assert version(tmp_path / "t.db") == tables.SCHEMA_VERSION


def test_the_file_is_backed_up_as_it_was(tmp_path: Path) -> None:
    old_store(tmp_path / "t.db")
    open_store(f"sqlite:///{tmp_path}/t.db").close()
    backup = tmp_path / "t.db.schema1.bak"
    assert version(backup) == "1"
    raw = sqlite3.connect(backup)
    assert raw.execute("select name from tuner_builds").fetchall() == [("opt4",)]
    raw.close()
    assert not list(tmp_path.glob("*.part"))


def test_an_older_backup_is_never_overwritten(tmp_path: Path) -> None:
    old_store(tmp_path / "t.db")
    (tmp_path / "t.db.schema1.bak").write_text("precious")
    open_store(f"sqlite:///{tmp_path}/t.db").close()
    assert (tmp_path / "t.db.schema1.bak").read_text() == "precious"
    assert version(tmp_path / "t.db.schema1.bak.2") == "1"


def test_a_migration_without_room_for_the_backup_changes_nothing(tmp_path: Path) -> None:
    old_store(tmp_path / "t.db")
    (tmp_path / "t.db.schema1.bak.part").mkdir()  # the backup cannot be written there
    with pytest.raises(TunerError, match="cannot be backed up"):
        open_store(f"sqlite:///{tmp_path}/t.db")
    assert version(tmp_path / "t.db") == "1"


def test_a_migrated_store_is_not_backed_up_again(tmp_path: Path) -> None:
    old_store(tmp_path / "t.db")
    for _ in range(2):
        open_store(f"sqlite:///{tmp_path}/t.db").close()
    assert [p.name for p in tmp_path.glob("*.bak*")] == ["t.db.schema1.bak"]


def test_a_store_of_a_newer_schema_is_left_as_it_is(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/t.db").close()
    raw = sqlite3.connect(tmp_path / "t.db")
    raw.execute("update tuner_alembic set version_num = '999'")
    raw.commit()
    raw.close()
    before = (tmp_path / "t.db").read_bytes()
    with pytest.raises(TunerError, match="schema version 999, this tuner knows"):
        open_store(f"sqlite:///{tmp_path}/t.db")
    assert (tmp_path / "t.db").read_bytes() == before


def _open(url: str) -> None:
    open_store(url).close()


@pytest.mark.parametrize("is_old", [False, True])
def test_several_processes_may_open_a_new_or_an_old_store_at_once(tmp_path: Path, is_old: bool) -> None:
    if is_old:
        old_store(tmp_path / "t.db")
    context = multiprocessing.get_context("spawn")
    opening = [context.Process(target=_open, args=(f"sqlite:///{tmp_path}/t.db",)) for _ in range(4)]
    for process in opening:
        process.start()
    for process in opening:
        process.join(60)
    assert [process.exitcode for process in opening] == [0, 0, 0, 0]
    assert version(tmp_path / "t.db") == tables.SCHEMA_VERSION
