"""Tests of children that really crash, hang and eat memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tuner.engines.child import Limits, run_child
from tuner.engines.plan_store import PlanStore
from tuner.errors import BuildFailed, RunFailed

CHILD = str(Path(__file__).parents[1] / "stand_ins" / "misbehaving_child.py")
ROOT = Path(__file__).parents[2]


PATIENT = Limits(seconds=30)


def run(how: str, log: Path, limits: Limits = PATIENT, **more: Any) -> list[dict[str, Any]]:
    request = {"how": how, **more}
    return list(run_child([sys.executable, CHILD], request, limits, log, failure=BuildFailed))


def test_answers_come_back_in_order(tmp_path: Path) -> None:
    started, echo = run("nothing", tmp_path / "log")
    assert started["started"] > 0
    assert echo == {"echo": {"how": "nothing"}}


def test_request_longer_than_a_pipe_arrives_whole(tmp_path: Path) -> None:
    text = "x" * 1_000_000
    assert run("nothing", tmp_path / "log", text=text)[1]["echo"]["text"] == text


def test_crash_by_signal_names_the_signal(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="SIGSEGV") as caught:
        run("segfault", tmp_path / "log")
    assert caught.value.kind == "crash"


def test_exit_shows_the_last_line_of_the_kept_log(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"exit status 3.*could not find libnothing\.so") as caught:
        run("exit", tmp_path / "deep" / "log")
    assert caught.value.kind == "crash"
    assert "libnothing" in (tmp_path / "deep" / "log").read_text()


def test_bug_in_the_child_leaves_its_traceback_in_the_log(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="ValueError: a bug of ours"):
        run("bug", tmp_path / "log")
    assert "Traceback" in (tmp_path / "log").read_text()


def test_hang_ends_at_the_time_limit(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"more than 1 s.*--time-limit") as caught:
        run("hang", tmp_path / "log", Limits(seconds=1))
    assert caught.value.kind == "timeout"


def test_child_that_takes_too_much_memory_is_ended(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"GiB of memory, 0\.25 GiB are allowed") as caught:
        run("eat", tmp_path / "log", Limits(seconds=30, memory_bytes=256 << 20))
    assert caught.value.kind == "memory"


def test_megabytes_of_chatter_go_to_the_log_and_spoil_no_answer(tmp_path: Path) -> None:
    started, echo = run("talk", tmp_path / "log")
    assert (started["started"] > 0, echo) == (True, {"echo": {"how": "talk"}})
    assert (tmp_path / "log").stat().st_size > 10_000_000


def test_child_that_dies_before_it_says_so_is_a_failure_though_its_plan_is_whole(tmp_path: Path) -> None:
    plan = tmp_path / "a.engine"
    with pytest.raises(BuildFailed, match="SIGKILL") as caught:
        run("finish_and_die", tmp_path / "log", plan=str(plan))
    assert caught.value.kind == "crash"
    # Nobody recorded its digest, so the plan store holds nothing that would be loaded.
    assert not PlanStore(tmp_path).holds("a", 0, None)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_reported_failure_keeps_its_kind_and_reason(tmp_path: Path) -> None:
    answers = run_child(
        [sys.executable, CHILD], {"how": "report"}, PATIENT, tmp_path / "log", failure=RunFailed
    )
    with pytest.raises(RunFailed, match=r"^the profile is impossible$") as caught:
        list(answers)
    assert caught.value.kind == "profile"


def test_child_ends_with_its_killed_parent(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tuner.errors import BuildFailed\n"
        "from tuner.engines.child import Limits, run_child\n"
        f"for a in run_child([sys.executable, {CHILD!r}], {{'how': 'hang'}}, Limits(seconds=60), "
        f"Path({str(tmp_path / 'log')!r}), failure=BuildFailed): print(a['started'], flush=True)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT, text=True)
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        os.kill(parent.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while _is_running(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
