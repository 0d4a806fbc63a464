"""Tests of runs: one at a time holds a study, a dead one's claim is taken over, a living one's never."""

from __future__ import annotations

import dataclasses
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, insert, select, update

from tuner.errors import TunerError
from tuner.measurements import tables
from tuner.measurements.runs import SILENT_S, Run, holding_study, run_on

CLAIM = """
import sys, time
from sqlalchemy import create_engine
from tuner.measurements.runs import holding_study
with holding_study(create_engine(sys.argv[1]), "study"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def engine(tmp_path: Path):
    made = create_engine(f"sqlite:///{tmp_path}/runs.db")
    tables.runs.create(made)
    yield made
    made.dispose()


def put(engine: Engine, run: Run) -> None:
    with engine.begin() as connection:
        connection.execute(insert(tables.runs).values(**dataclasses.asdict(run)))


def elsewhere(last_seen_s: float) -> Run:
    return Run("r1", "study", "another-host", 1, "", last_seen_s)


def test_a_study_is_free_again_after_its_run(engine: Engine) -> None:
    with holding_study(engine, "study") as run, engine.connect() as connection:
        assert run_on(connection, "study") == run
    with engine.connect() as connection:
        assert run_on(connection, "study") is None


def test_a_study_is_free_again_after_a_run_that_failed(engine: Engine) -> None:
    with pytest.raises(ValueError, match="inside"), holding_study(engine, "study"):
        raise ValueError("inside")
    with holding_study(engine, "study"):
        pass


def test_a_second_run_is_told_who_holds_the_study(engine: Engine) -> None:
    with holding_study(engine, "study"):
        words = rf"another run works on this very study \(process {os.getpid()} on {socket.gethostname()}"
        with pytest.raises(TunerError, match=words), holding_study(engine, "study"):
            pass


def test_another_study_is_free(engine: Engine) -> None:
    with holding_study(engine, "study"), holding_study(engine, "another"):
        pass


def test_the_claim_of_a_killed_process_is_taken_over_at_once(engine: Engine) -> None:
    command = [sys.executable, "-c", CLAIM, str(engine.url)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TunerError, match=f"process {holder.pid} on"), holding_study(engine, "study"):
            pass
        holder.kill()
    with holding_study(engine, "study"):
        pass


def test_a_later_process_with_the_same_number_is_another_one(engine: Engine) -> None:
    now = elsewhere(0).last_seen_s
    ours = Run("r1", "study", socket.gethostname(), os.getpid(), "an earlier start", now)
    assert not ours.is_alive(now)


def test_a_run_elsewhere_lives_as_long_as_it_is_heard_of() -> None:
    assert elsewhere(1000.0).is_alive(1000.0 + SILENT_S - 1)
    assert not elsewhere(1000.0).is_alive(1000.0 + SILENT_S + 1)


def test_a_run_elsewhere_that_fell_silent_gives_way(engine: Engine) -> None:
    put(engine, elsewhere(0.0))
    with holding_study(engine, "study") as run, engine.connect() as connection:
        assert run_on(connection, "study") == run


def test_a_living_run_says_so_at_intervals(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.measurements.runs.HEARTBEAT_S", 0.01)
    with holding_study(engine, "study"):
        with engine.begin() as connection:
            connection.execute(update(tables.runs).values(last_seen_s=0.0))
        for _ in range(500):
            with engine.connect() as connection:
                seen = connection.execute(select(tables.runs.c.last_seen_s)).scalar()
            if seen:
                break
        assert seen
