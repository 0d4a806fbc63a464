"""A signal ends a run with its own exit code, and a run that has ended is not touched any more."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

ENDING = """
import atexit, os, signal, sys, time
from tuner.commands import main
sys.argv = ["tuner", "--version"]
atexit.register(lambda: os.kill(os.getpid(), signal.{name}))
class Late:
    def __del__(self): os.kill(os.getpid(), signal.{name})
late = Late()
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_behind_the_end_changes_nothing(name: str) -> None:
    code = ENDING.format(name=name)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ended.returncode == 0
    assert ended.stdout.startswith("tuner ")
    assert ended.stderr == ""


STOPPED = """
import os, signal, sys
from tuner.commands.stopping import Stopped, listen, stop_listening
listen()
try:
    os.kill(os.getpid(), signal.SIGTERM)
except Stopped as stopped:
    stop_listening()
    os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_second_signal_ends_a_stopped_run_at_once() -> None:
    ended = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, check=False)

    assert ended.returncode == -signal.SIGTERM
