"""Two jobs at once: on one study the second says who works on it, or waits; other studies share the store."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.faults.jobs import Folder, ended, folder_at
from tuner.measurements.connecting import connect
from tuner.measurements.runs import holding_study

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return folder_at(tmp_path / "job")


@contextmanager
def at_work_on_the_same_study(folder: Folder) -> Iterator[None]:
    """This process works on the study of the folder's job, as a first job would that takes its time."""
    assert folder.run("--out", "first.json").exit_code == 0
    database = connect(f"sqlite:///{folder.path}/tuner.db")
    with database.connect() as connection:
        name = str(connection.execute(text("select study_name from studies")).scalar())
    try:
        with holding_study(database, name):
            yield
    finally:
        database.dispose()


def test_the_second_job_on_a_study_says_who_works_on_it(folder: Folder) -> None:
    with at_work_on_the_same_study(folder):
        second = folder.run("--out", "second.json")
    assert second.exit_code == 1
    assert f"(process {os.getpid()} on {socket.gethostname()}" in second.err
    assert "--wait" in second.err
    assert not (folder.path / "second.json").exists()


def test_the_second_job_waits_if_asked_and_finds_the_same(folder: Folder) -> None:
    with at_work_on_the_same_study(folder):
        second = folder.start("--out", "second.json", "--wait")
        with pytest.raises(subprocess.TimeoutExpired, match="timed out"):
            second.wait(timeout=10)
    result = ended(second)
    assert (result.exit_code, result.err) == (0, "")
    documents = [(folder.path / name).read_bytes() for name in ("first.json", "second.json")]
    assert documents[0] == documents[1]


def test_jobs_on_other_studies_share_the_store(folder: Folder) -> None:
    jobs = [folder.start("--out", f"{seed}.json", "--seed", str(seed)) for seed in range(3)]
    assert [(e.exit_code, e.err) for e in map(ended, jobs)] == [(0, "")] * 3
    assert folder.stored() == (20, 2010)
