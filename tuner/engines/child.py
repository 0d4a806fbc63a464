"""Runs one piece of work in a fresh interpreter, with limits, so that its crash is one failed outcome.

The request goes to the child's standard input as JSON; its answers come back as JSON lines on a pipe of
their own, so that whatever a library prints goes to the log. A child is killed with its parent.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tuner.errors import EngineError, TunerError

Answer = dict[str, Any]
Send = Callable[[Mapping[str, Any]], None]

POLL_S = 0.2
"""How often limits are looked at."""
_LOG_TAIL_BYTES = 4000
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may use: wall seconds in all, and resident memory; None for no limit."""

    seconds: float
    memory_bytes: int | None = None


def run_child(
    program: Sequence[str],
    request: Mapping[str, Any],
    limits: Limits,
    log_path: Path,
    *,
    failure: type[EngineError],
) -> Iterator[Answer]:
    """Give each answer as it comes; `failure` with kind and reason where the child does not end well.

    Kinds: what the child itself reports, `timeout`, `memory` and `crash`.
    """
    log_path.parent.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    with (
        log_path.open("ab") as log,
        os.fdopen(reading, "rb", buffering=0) as answers,
        tempfile.TemporaryFile() as told,
    ):
        told.write(json.dumps(request).encode())
        told.seek(0)
        try:
            process = subprocess.Popen(
                [*program, str(writing)],
                stdin=told,
                stdout=log,
                stderr=log,
                pass_fds=[writing],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)},
            )
        finally:
            os.close(writing)
        try:
            yield from _answers(process, answers, limits, failure)
            _check_end(process, log_path, failure)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _answers(
    process: subprocess.Popen[bytes], pipe: IO[bytes], limits: Limits, failure: type[EngineError]
) -> Iterator[Answer]:
    deadline = time.monotonic() + limits.seconds
    rest = b""
    while True:
        _check_limits(process, limits, deadline, failure)
        if not select.select([pipe], [], [], POLL_S)[0]:
            continue
        chunk = pipe.read(1 << 16)
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            answer = json.loads(line)
            if "failed" in answer:
                raise failure(answer["failed"], answer["kind"])
            yield answer


def _check_limits(
    process: subprocess.Popen[bytes], limits: Limits, deadline: float, failure: type[EngineError]
) -> None:
    if time.monotonic() > deadline:
        raise failure(
            f"it ran for more than {limits.seconds:g} s and was ended; allow more with --time-limit",
            "timeout",
        )
    used = resident_bytes(process.pid)
    if limits.memory_bytes is not None and used > limits.memory_bytes:
        raise failure(
            f"it took {used / 2**30:.2f} GiB of memory, {limits.memory_bytes / 2**30:.2f} GiB are allowed; "
            "allow more with --memory-limit or narrow the profile",
            "memory",
        )


def resident_bytes(pid: int) -> int:
    """Memory that a process holds in RAM; 0 once it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _check_end(process: subprocess.Popen[bytes], log_path: Path, failure: type[EngineError]) -> None:
    status = process.wait()
    if status == 0:
        return
    how = f"exit status {status}"
    if status < 0:
        how = f"signal {signal.Signals(-status).name}"
        if -status == signal.SIGKILL:
            how += " (somebody killed it; the system does so when memory runs out)"
    raise failure(f"it ended by {how}; the log {log_path} ends with: {last_line(log_path)}", "crash")


def last_line(log_path: Path) -> str:
    """The last line of a log that says anything."""
    with log_path.open("rb") as log:
        log.seek(max(0, log_path.stat().st_size - _LOG_TAIL_BYTES))
        lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "nothing"


def serve(work: Callable[[Answer, Send], None]) -> None:
    """The child's side: read the request, do the work, report errors of ours as `failed`.

    Any other exception is a bug: its traceback goes to the log and the parent sees a crash.
    """
    _die_with_parent()
    request = json.loads(sys.stdin.buffer.read())
    with os.fdopen(int(sys.argv[1]), "wb") as pipe:

        def send(answer: Mapping[str, Any]) -> None:
            pipe.write(json.dumps(answer).encode() + b"\n")
            pipe.flush()

        try:
            work(request, send)
        except EngineError as error:
            send({"failed": str(error), "kind": error.kind})
        except TunerError as error:
            send({"failed": str(error), "kind": "failed"})


def _die_with_parent() -> None:
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the parent ended before its child had started")
