"""Runs the command line in this process, as `main` would be run by a shell."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tuner.commands import main

SAMPLES = Path(__file__).parents[2] / "sample_logs"
ENCODER = SAMPLES / "h200_trt86_encoder6.parquet"


@dataclass(frozen=True)
class Ran:
    """Exit code and output of one run."""

    exit_code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """A folder to run commands in."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def tuner(self, *arguments: str | Path) -> Ran:
        self.monkeypatch.chdir(self.folder)
        self.monkeypatch.setattr(sys, "argv", ["tuner", *map(str, arguments)])
        self.capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        out, err = self.capsys.readouterr()
        return Ran(code if isinstance(code, int) else 0, out, err)

    @property
    def files(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}


def assert_one_line(ran: Ran, *words: str, exit_code: int = 1) -> None:
    """The run failed with one line on stderr that holds the words, and no traceback."""
    assert ran.exit_code == exit_code, ran.err
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("tuner: ")
    for word in words:
        assert word in lines[0]
