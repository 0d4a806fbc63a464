"""The command line as a whole: instant help, version, variables, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tuner
from tests.commands.running import SAMPLES
from tuner.commands import app

HEAVY = ("tensorrt", "optuna", "pandas", "pyarrow", "numpy", "onnx", "sqlalchemy")


def test_help_imports_nothing_heavy() -> None:
    code = f"import sys, tuner.commands; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [(), ("recommend",)])
def test_help_is_shown_without_anything_heavy(arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "tuner", *arguments, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "--logs" in done.stdout if arguments else "recommend" in done.stdout
    assert "tuner.commands" in imported
    assert not imported & set(HEAVY)


def test_the_version_is_the_packages() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tuner", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"tuner {tuner.__version__}"


def test_every_option_has_its_variable() -> None:
    from typer.main import get_command

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for command in commands.values():
        for parameter in command.params:
            flags = [o for o in parameter.opts if o.startswith("--")]
            if flags and parameter.name != "help":
                expected = "TUNER_" + flags[0].lstrip("-").upper().replace("-", "_")
                assert parameter.envvar == expected, f"{command.name} {flags[0]}"


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_with_its_code_and_no_document(
    tmp_path: Path, number: signal.Signals, exit_code: int
) -> None:
    log = tmp_path / "slow.jsonl"
    log.write_text("".join('{"batch": 1, "seq": 32}\n' for _ in range(2_000_000)))
    command = [
        *(sys.executable, "-m", "tuner", "recommend", "--logs", str(log)),
        *("--measurements", str(SAMPLES / "h200_trt86_encoder6.parquet")),
    ]
    running = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SAMPLES.parent)},
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "tuner.db").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(number)
    _, err = running.communicate(timeout=30)
    assert running.returncode == exit_code
    assert "Traceback" not in err
    assert not (tmp_path / "profile.json").exists()


def test_terminal_codes_in_a_name_never_reach_the_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tuner", "recommend", "--logs", "\x1b[31mred\n.csv", "--rule", "p90"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SAMPLES.parent)},
    )
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "\\x1b[31mred\\n.csv" in done.stderr
