"""A child process that really crashes, hangs, eats memory or reports a failure, as its request says."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tuner.engines.child import Answer, Send, serve
from tuner.engines.plan_file import write_whole
from tuner.errors import BuildFailed


def misbehave(request: Answer, send: Send) -> None:  # noqa: C901  # one branch a fault
    how = request["how"]
    send({"started": os.getpid()})
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "hang":
        time.sleep(600)
    if how == "eat":
        hoard = []
        while True:
            hoard.append(bytearray(b"x" * (16 << 20)))
            time.sleep(0.005)
    if how == "talk":
        for stream in (sys.stdout, sys.stderr):
            stream.write("chatter of a library\n" * 500_000)
            stream.flush()
    if how == "finish_and_die":
        write_whole(Path(request["plan"]), b"plan" * 1000)
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "write":
        write_whole(Path(request["plan"]), b"plan" * 1_000_000)
    if how == "exit":
        sys.stderr.write("could not find libnothing.so\n")
        os._exit(3)
    if how == "bug":
        raise ValueError("a bug of ours")
    if how == "report":
        raise BuildFailed("the profile is impossible", "profile")
    send({"echo": request})


if __name__ == "__main__":
    serve(misbehave)
