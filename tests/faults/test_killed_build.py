"""Real builds with TensorRT-RTX that are killed: the engine in place is the old one, none, or whole."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.jobs import ROOT, ended
from tests.models import save

pytestmark = pytest.mark.rtx
pytest.importorskip("tensorrt_rtx", reason="needs TensorRT-RTX: pip install 'trt-profile-tuner[rtx]'")

OLD = b"an engine that serves"


def start(folder: Path) -> subprocess.Popen[str]:
    command = [
        *(sys.executable, "-m", "tuner", "build", "profile.json", "--model", "tiny.onnx"),
        *("--flavour", "tensorrt_rtx", "--precision", "fp32", "--out", "tiny.engine"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save("tiny", tmp_path / "tiny.onnx")
    (tmp_path / "log.csv").write_text("batch,count\n1,50\n4,20\n8,10\n")
    recommend = ("recommend", "--logs", "log.csv", "--model", "tiny.onnx", "--rule", "p90", "--quiet")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "tuner", *recommend], cwd=tmp_path, env=environment, check=True)
    (tmp_path / "tiny.engine").write_bytes(OLD)
    return tmp_path


def is_whole(folder: Path) -> bool:
    """The engine is the one that the facts beside it describe."""
    facts = [json.loads(path.read_text()) for path in folder.glob("tiny.engine*.json")]
    digest = hashlib.sha256((folder / "tiny.engine").read_bytes()).hexdigest()
    return any(digest in json.dumps(one) for one in facts)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("delay_s", [random.Random(seed).uniform(0.3, 6.0) for seed in range(3)])
def test_a_build_that_is_killed_leaves_the_old_engine_or_a_whole_one(
    folder: Path, number: signal.Signals, delay_s: float
) -> None:
    job = start(folder)
    time.sleep(delay_s)
    job.send_signal(number)
    ended(job)
    assert (folder / "tiny.engine").read_bytes() == OLD or is_whole(folder)
    again = ended(start(folder))
    assert again.exit_code == 0, again.err
    assert is_whole(folder)
