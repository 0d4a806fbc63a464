"""Starts nightly jobs as processes of their own, hits them in a phase, and looks at what they left."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from tests.commands.running import ENCODER
from tuner.recommendation.document import schema

ROOT = Path(__file__).parents[2]
SLOW_JOB = Path(__file__).with_name("slow_job.py")
TRAFFIC = "batch,seq,count\n1,32,500\n2,64,300\n8,128,100\n4,64,50\n64,512,20\n"


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    exit_code: int
    err: str


@dataclass(frozen=True)
class Folder:
    """A folder with a log, in which jobs write `profile.json` and `tuner.db`."""

    path: Path

    @property
    def document(self) -> Path:
        return self.path / "profile.json"

    def command(self, *more: str, program: tuple[str, ...] = ("-m", "tuner")) -> list[str]:
        given = ("--logs", "day.csv", "--measurements", str(ENCODER), "--quiet")
        return [sys.executable, *program, "recommend", *given, *more]

    def start(self, *more: str, program: tuple[str, ...] = ("-m", "tuner")) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PHASE_FILE": str(self.path / "phases.txt")}
        return subprocess.Popen(
            self.command(*more, program=program),
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *more: str) -> Ended:
        return ended(self.start(*more))

    def stored(self) -> tuple[int, int]:
        """Builds and measurements in the store; it has to be a whole database."""
        if not (self.path / "tuner.db").exists():
            return 0, 0
        with closing(sqlite3.connect(self.path / "tuner.db")) as raw:
            assert raw.execute("pragma integrity_check").fetchone() == ("ok",)
            names = {row[0] for row in raw.execute("select name from sqlite_master")}
            if "tuner_measurements" not in names:
                return 0, 0
            tables = ("tuner_builds", "tuner_measurements")
            counts = [raw.execute(f"select count(*) from {name}").fetchone()[0] for name in tables]
        return counts[0], counts[1]


def folder_at(path: Path) -> Folder:
    path.mkdir(exist_ok=True)
    (path / "day.csv").write_text(TRAFFIC)
    return Folder(path)


def ended(job: subprocess.Popen[str], timeout_s: float = 120) -> Ended:
    try:
        _, err = job.communicate(timeout=timeout_s)
    finally:
        job.kill()
    assert "Traceback" not in err, err
    return Ended(job.returncode, err)


def hit(folder: Folder, phase: str, delay_s: float, number: signal.Signals) -> Ended:
    """Start a slowed job and send it the signal so long after it entered the phase."""
    job = folder.start(program=(str(SLOW_JOB),))
    phases = folder.path / "phases.txt"
    deadline = time.monotonic() + 60
    while not (phases.exists() and f"{phase}\n" in phases.read_text()) and time.monotonic() < deadline:
        assert job.poll() is None, job.communicate()
        time.sleep(0.005)
    time.sleep(delay_s)
    job.send_signal(number)
    return ended(job)


def assert_whole(document: Path, before: bytes | None) -> None:
    """The document is as it was before, or fully new and valid."""
    if not document.exists():
        assert before is None
        return
    content = document.read_bytes()
    if content != before:
        jsonschema.validate(json.loads(content), schema())
