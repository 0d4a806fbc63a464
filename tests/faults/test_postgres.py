"""PostgreSQL as store: a real server, lost and back, with several runs at once."""

from __future__ import annotations

import dataclasses
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tests.faults.jobs import SLOW_JOB, ended, folder_at
from tests.faults.postgres import PASSWORD, Server, binaries, start_server
from tests.measurements.recorded_files import MODEL, engine
from tests.measurements.test_migrations import COLUMNS_NEW_IN_3
from tuner.errors import TunerError
from tuner.measurements.connecting import connect
from tuner.measurements.store import open_store

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if binaries() is None:
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'trt-profile-tuner[postgres]'")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder, "server")
        place.mkdir()
        running = start_server(place)
        yield running
        running.control("stop", "-m", "immediate")


@contextmanager
def disposed(database: Engine) -> Iterator[Engine]:
    """An engine whose connections are closed at the end."""
    try:
        yield database
    finally:
        database.dispose()


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest) -> str:
    name = "".join(c for c in request.node.name.lower() if c.isalnum())[-40:]
    return server.new_database(name)


def test_what_was_stored_comes_back(url: str) -> None:
    recorded = engine(4)
    built = dataclasses.replace(
        recorded.engine, plan_bytes=5 * 2**30, device_memory_bytes=2**40, name="1x16..4x128..64x512 + " * 40
    )
    with open_store(url) as store:
        store.add_engine(MODEL, built)
        store.add_measurements(built.spec.key, 0, recorded.measurements)
    with open_store(url) as store:
        assert store.engines() == [built]
        assert store.measurements(built.spec.key, 0) == list(recorded.measurements)


def test_a_reason_with_a_byte_that_servers_refuse_is_stored_without_it(url: str) -> None:
    failed = dataclasses.replace(engine(4).engine, outcome="crashed", reason="Segmentation\0fault")
    with open_store(url) as store:
        store.add_engine(MODEL, failed)
        assert [e.reason for e in store.engines()] == ["Segmentationfault"]


def _write(url: str, first: int) -> None:
    """Engines and measurements that other writers store too, in another order."""
    repeats = [(first + i) % 12 for i in range(12)]
    recorded = engine(4)
    with open_store(url) as store:
        for repeat in repeats:
            store.add_engine(MODEL, dataclasses.replace(recorded.engine, repeat=repeat))
            for one in recorded.measurements:
                store.add_measurements(recorded.engine.spec.key, repeat, [one])


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_runs_that_write_the_same_at_once_lose_nothing_and_store_nothing_twice(
    url: str, kind: str, tmp_path: Path
) -> None:
    shared = url if kind == "postgresql" else f"sqlite:///{tmp_path}/t.db"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(shared, 3 * i)) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    with open_store(shared) as store:
        assert sorted(e.repeat for e in store.engines()) == list(range(12))
        for one in store.engines():
            assert len(store.measurements(one.spec.key, one.repeat)) == 4


def test_a_whole_job_runs_on_it_and_gives_the_document_of_sqlite(url: str, tmp_path: Path) -> None:
    here, there = folder_at(tmp_path / "sqlite"), folder_at(tmp_path / "postgres")
    assert here.run().exit_code == 0
    result = there.run("--store", url)
    assert (result.exit_code, result.err) == (0, "")
    assert there.document.read_bytes() == here.document.read_bytes()
    assert not (there.path / "tuner.db").exists()


def test_a_server_that_restarts_in_the_middle_of_a_run_is_waited_for(
    server: Server, url: str, tmp_path: Path
) -> None:
    folder = folder_at(tmp_path / "job")
    job = folder.start("--store", url, program=(str(SLOW_JOB),))
    phases = folder.path / "phases.txt"
    deadline = time.monotonic() + 60
    while not (phases.exists() and "searching" in phases.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    server.control("stop", "-m", "immediate")
    time.sleep(1.5)
    server.control("start")
    result = ended(job)
    if result.exit_code != 0:  # it went away inside of one of Optuna's transactions
        assert len(result.err.strip().splitlines()) == 1
        assert folder.run("--store", url).exit_code == 0
    undisturbed = folder_at(tmp_path / "undisturbed")
    assert undisturbed.run().exit_code == 0
    assert folder.document.read_bytes() == undisturbed.document.read_bytes()


def test_our_own_writes_survive_a_restart(server: Server, url: str) -> None:
    recorded = engine(4)
    with open_store(url) as store:
        store.add_engine(MODEL, recorded.engine)
        server.control("restart", "-m", "immediate")
        store.add_measurements(recorded.engine.spec.key, 0, recorded.measurements)
        assert len(store.measurements(recorded.engine.spec.key, 0)) == 4


def test_a_server_that_stays_away_is_an_error_without_the_password(tmp_path: Path) -> None:
    nowhere = f"postgresql+psycopg://postgres:{PASSWORD}@127.0.0.1:1/none"
    with pytest.raises(TunerError, match=r"127\.0\.0\.1:1/none: .*cannot be reached") as caught:
        open_store(nowhere, wait_s=0.5)
    assert PASSWORD not in str(caught.value)


def test_a_wrong_password_is_said_at_once(server: Server) -> None:
    log = server.data / "server.log"
    before = log.read_text().count("password authentication failed")
    with pytest.raises(TunerError, match="password authentication failed"):
        open_store(server.url().replace(PASSWORD, "wrong"))
    assert log.read_text().count("password authentication failed") == before + 1


def test_the_password_is_stored_nowhere(url: str, tmp_path: Path) -> None:
    folder = folder_at(tmp_path / "job")
    assert folder.run("--store", url).exit_code == 0
    assert PASSWORD not in folder.document.read_text()
    with disposed(connect(url)) as database, database.connect() as connection:
        names = connection.execute(text("select tablename from pg_tables where schemaname = 'public'"))
        for (name,) in names.all():
            rows = connection.execute(text(f'select t::text from "{name}" t')).scalars()
            assert not any(PASSWORD in row for row in rows), name


def test_an_older_store_is_migrated_in_place(url: str) -> None:
    open_store(url).close()
    with disposed(connect(url)) as database, database.begin() as connection:
        for name in ("tuner_documents", "tuner_traffic", "tuner_runs", "tuner_contexts"):
            connection.execute(text(f"drop table {name}"))
        for table, columns in COLUMNS_NEW_IN_3.items():
            for column in columns:
                connection.execute(text(f"alter table {table} drop column {column}"))
        for column in ("plan_bytes", "device_memory_bytes"):
            connection.execute(text(f"alter table tuner_builds alter column {column} type integer"))
        connection.execute(text("update tuner_alembic set version_num = '1'"))
    with open_store(url) as store:
        store.add_engine(MODEL, dataclasses.replace(engine(4).engine, plan_bytes=5 * 2**30))
        assert [e.plan_bytes for e in store.engines()] == [5 * 2**30]
