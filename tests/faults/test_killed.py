"""Jobs that are killed at seeded points of every phase: nothing measured is lost, nothing is half written."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.faults.jobs import Folder, assert_whole, folder_at, hit

PHASES = ("reading", "storing", "searching", "writing")

POINTS_IN_A_PHASE = 5
OLD = b'{"an": "older document"}\n'


def points() -> list[tuple[str, float]]:
    """Twenty points: five in each phase, each so many seconds behind its start."""
    seeded = random.Random(20)
    longest = {"reading": 0.4, "storing": 0.5, "searching": 2.0, "writing": 0.4}
    return [(phase, seeded.uniform(0, longest[phase])) for phase in PHASES for _ in range(POINTS_IN_A_PHASE)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The document of a job that nobody touches."""
    folder = folder_at(tmp_path_factory.mktemp("undisturbed"))
    assert folder.run().exit_code == 0
    return folder.document.read_bytes()


def assert_recovers(folder: Folder, undisturbed: bytes) -> None:
    """What was stored stays, and a rerun ends with the document of a job that was never hit."""
    builds, measurements = folder.stored()
    assert_whole(folder.document, OLD)
    assert folder.run().exit_code == 0
    assert folder.document.read_bytes() == undisturbed
    after = folder.stored()
    assert after[0] >= builds
    assert after[1] >= measurements
    assert after == (20, 2010)


@pytest.mark.slow
@pytest.mark.parametrize(("phase", "delay_s"), points())
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_that_is_killed_loses_nothing_and_a_rerun_completes(
    tmp_path: Path, undisturbed: bytes, number: signal.Signals, phase: str, delay_s: float
) -> None:
    folder = folder_at(tmp_path / "job")
    folder.document.write_bytes(OLD)
    ended = hit(folder, phase, delay_s, number)
    assert ended.exit_code in ((-9,) if number == signal.SIGKILL else (143, 0))
    if number == signal.SIGTERM:
        assert not list(folder.path.glob(".tuner-*"))
    assert_recovers(folder, undisturbed)


@pytest.mark.parametrize("phase", ["storing", "searching"])
def test_ctrl_c_says_what_was_saved_and_ends_with_130(tmp_path: Path, phase: str) -> None:
    folder = folder_at(tmp_path / "job")
    ended = hit(folder, phase, 0.1, signal.SIGINT)
    builds, measurements = folder.stored()
    assert ended.exit_code == 130
    assert len(ended.err.strip().splitlines()) == 1
    assert "tuner: stopped by SIGINT" in ended.err
    assert f"({builds} and {measurements} in all)" in ended.err
    assert measurements > 0
    assert not folder.document.exists()
