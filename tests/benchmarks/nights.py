"""Figures of the nightly job: `python -m tests.benchmarks.nights` in the repository's root.

Runs the real command on the sample logs: a first night, a night with nothing to do, a night whose traffic
moved; then thirty made-up nights of each kind against an oracle that may change every night. GPU minutes
of the moved night are those that the recorded engines took to build and to time.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.commands.running import ENCODER, SAMPLES
from tests.recommendation.nights import day, run_nights
from tuner.measurements.flat_parquet import read_flat

NIGHTS = 30
REQUESTS = 20_000
SEEDS = (0, 1, 2)


def tuner(folder: Path, *arguments: str) -> float:
    """Wall seconds of one command."""
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(SAMPLES.parent)}
    command = [sys.executable, "-m", "tuner", *arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def recorded_gpu_minutes() -> tuple[int, float]:
    """Single-profile engines of the recording, and the minutes that building and timing them took."""
    engines = [e for e in read_flat(ENCODER).engines if len(e.engine.spec.profiles) == 1]
    build_s = sum(e.engine.build_s or 0.0 for e in engines)
    timed_ms = sum(m.summary.mean_ms * m.summary.sample_count for e in engines for m in e.measurements)
    return len(engines), (build_s + timed_ms / 1000) / 60


def one_night_each(folder: Path) -> None:
    moved = "batch,seq,count\n1,32,200\n64,256,50000\n64,384,30000\n64,512,30000\n32,256,5000\n"
    (folder / "moved.csv").write_text(moved)
    given = ("recommend", "--measurements", str(ENCODER), "--quiet")
    logs = ("--logs", str(SAMPLES / "prod.parquet"), "--log-kind", "batches")
    first = tuner(folder, *given, *logs)
    idle = tuner(folder, *given, *logs, "--deployed", "profile.json", "--out", "idle.json")
    checked = tuner(folder, "check", *logs, "--deployed", "profile.json", "--quiet")
    change = tuner(folder, *given, "--logs", "moved.csv", "--deployed", "profile.json", "--out", "new.json")
    documents = [json.loads((folder / name).read_text()) for name in ("idle.json", "new.json")]
    decisions = [document["decision"] for document in documents]
    tried = documents[1]["evidence"]["trials"]
    engines, minutes = recorded_gpu_minutes()
    print(f"first night: {first:.1f} s")
    print(f"night with nothing to do: {idle:.1f} s, decision {decisions[0]}, 0 GPU seconds")
    print(f"check alone: {checked:.1f} s, 0 GPU seconds")
    print(f"night with moved traffic: {change:.1f} s, decision {decisions[1]}, {tried} profiles tried")
    print(
        f"with an empty store those are {tried} builds and {minutes * tried / engines:.1f} GPU minutes, at "
        f"what the {engines} recorded engines took"
    )


def thirty_nights() -> None:
    progress = [i / NIGHTS for i in range(NIGHTS + 1)]
    signs = [(-1) ** i for i in range(NIGHTS + 1)]
    kinds = {
        "slow drift": [day(0.02 + 0.5 * p, 24 * 10**p) for p in progress],
        "oscillation within noise": [day(0.1 * (1 + 0.05 * s), 48 * (1 + 0.03 * s)) for s in signs],
        "weekly wave": [day(0.1 * (1 + 0.3 * math.sin(2 * math.pi * 30 * p / 7)), 48) for p in progress],
        "jump for good": [day(0.1, 48)] * 8 + [day(0.6, 200)] * (NIGHTS - 7),
    }
    for kind, days in kinds.items():
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as folder:
                ran = run_nights(days, REQUESTS, seed, Path(folder))
            print(
                f"{kind}, seed {seed}: {ran.changes} changes, {ran.searched} searches, mean regret "
                f"{ran.regret:.2%}, worst night {max(ran.regrets):.2%}",
                flush=True,
            )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        one_night_each(Path(folder))
    thirty_nights()
