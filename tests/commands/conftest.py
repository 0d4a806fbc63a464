"""Fixtures of the command tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.running import Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    """An empty folder without `tuner.toml`; signal handlers are as before afterwards."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    folder = tmp_path / "here"
    folder.mkdir()
    yield Shell(folder, monkeypatch, capsys)
    for number, handler in handlers.items():
        signal.signal(number, handler)
