"""Why two processes time one engine differently: `python tests/benchmarks/process_spread.py FOLDER`.

One encoder engine is timed in many processes, in turns in three ways: as `tuner` times (each run is waited
for before the next is put on the stream), queued (each run behind another, as trtexec does unless it is
called with `--exposeDMA`), and pinned (as `tuner` times, on one processor). Printed is how far apart
processes are, for each size and mode; how far apart execution contexts, each with a stream of its own, are
within one process; and what a change of size costs when it is waited for and when it is queued.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.h200 import (
    GRID,
    TIME_LIMIT_S,
    bench_of,
    built_and_timed,
    encoder_over,
    url,
)
from tuner.axes import Size
from tuner.measurements.engine_lane import Lane
from tuner.measurements.input_fill import fill_for
from tuner.measurements.runner import SizeTask
from tuner.measurements.store import open_store
from tuner.measurements.tensorrt_runner import TensorRTRunner
from tuner.measurements.timing import SamplingRule
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import ProfileSet

PROCESSES = 5
WAYS = ("waited", "queued", "pinned")
SIZES = GRID[::6]
CHANGES = 200
LANES = 3
Run = dict[str, dict[str, float]]
"""Medians (ms) by mode or lane, and size; `change` has what a change of size costs."""


def queued_times(lane: Lane, work: Callable[[], None], count: int) -> list[float]:
    """As `Lane.event_times`, with every run put on the stream while the one before it runs."""
    before, after = ([lane.cuda.Event() for _ in range(count)] for _ in range(2))
    work()  # what the first is queued behind
    for i in range(count):
        before[i].record(lane.stream)
        work()
        after[i].record(lane.stream)
        if i:
            after[i - 1].synchronize()
    after[-1].synchronize()
    return [float(end.time_since(start)) for start, end in zip(before, after, strict=True)]


def timed(plan: Path, model_path: Path, way: str) -> Run:
    """What one process sees."""
    if way == "pinned":
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    if way == "queued":
        Lane.event_times = queued_times  # type: ignore[method-assign]
    model = read_onnx(model_path)
    runner = TensorRTRunner()
    runner.open(plan, fill_for(model, model_path))
    order = list(SIZES)
    random.shuffle(order)
    tasks = [SizeTask.of(model, Size(("batch", "seq"), values), 0) for values in order]
    found: Run = {}
    runner.time(max(tasks, key=lambda task: task.size.work), SamplingRule())  # heating
    for lane in range(LANES if way == "waited" else 1):
        if lane:
            opened: Any = runner._opened
            opened.lanes.clear()  # the next one has a context, a stream and memory of its own
        for task in tasks:
            for mode, samples in runner.time(task, SamplingRule()).samples_ms.items():
                name = f"{mode} {lane}" if lane else str(mode)
                found.setdefault(name, {})[task.size.short] = statistics.median(samples)
    found["change"] = {"ms": change_ms(runner, tasks, way)}
    runner.close()
    return found


def change_ms(runner: TensorRTRunner, tasks: list[SizeTask], way: str) -> float:
    """Median of what a run takes longer after another size than after its own."""
    opened: Any = runner._opened
    lane = opened.lanes[0]
    for task in tasks:
        lane.put_size(task)  # memory that holds every size
    extra = []
    for _ in range(CHANGES):
        first, second = random.sample(tasks, 2)
        changed = pair_ms(lane, first, second, way)
        extra.append(changed - pair_ms(lane, second, second, way))
    return statistics.median(extra)


def pair_ms(lane: Lane, first: SizeTask, second: SizeTask, way: str) -> float:
    """Time of the second of two runs, which waits for the first or is queued behind it."""
    set_shapes(lane, first)
    lane.enqueue()
    lane.stream.synchronize()
    lane.enqueue()
    if way != "queued":
        lane.stream.synchronize()
    if second is not first:
        set_shapes(lane, second)
    return lane.run()[1]


def set_shapes(lane: Lane, task: SizeTask) -> None:
    for name, shape in task.shapes.items():
        lane.context.set_input_shape(name, shape)


def spread(runs: list[dict[str, float]]) -> str:
    """Over all sizes: (largest - smallest) / median of the medians."""
    per_size = [[run[size] for run in runs] for size in runs[0]]
    spreads = [(max(values) - min(values)) / statistics.median(values) for values in per_size]
    low, middle, high = np.quantile(spreads, [0.05, 0.5, 0.95])
    return f"{low:.2%} | {middle:.2%} | {high:.2%}"


def engine(folder: Path) -> tuple[Path, Path]:
    """Build the encoder at 4x128 once; its plan and its model."""
    with open_store(url(folder)) as store:
        bench = bench_of("encoder", folder, store)
        profiles = encoder_over((4, 128))
        built_and_timed(bench, profiles, GRID[:1])
        return bench.tools.plans.path(bench.spec(ProfileSet((profiles,))).key, 0), bench.model_path


def main(folder: Path) -> None:
    plan, model_path = engine(folder)
    runs: dict[str, list[Run]] = {way: [] for way in WAYS}
    for _, way in itertools.product(range(PROCESSES), WAYS):
        command = [sys.executable, __file__, "--one", str(plan), str(model_path), way]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT_S)
        runs[way].append(json.loads(done.stdout.splitlines()[-1]))
    (folder / "process_spread.json").write_text(json.dumps(runs))
    print(f"{PROCESSES} processes, {len(SIZES)} sizes: spread of medians, (largest - smallest) / middle")
    print("| way | mode | p5 | median | p95 |\n|---|---|---|---|---|")
    for way, mode in itertools.product(WAYS, ("enqueue", "cuda_graph")):
        print(f"| {way} | {mode} | {spread([run[mode] for run in runs[way]])} |")
    for mode in ("enqueue", "cuda_graph"):
        for run in runs["waited"]:
            lanes = [run[f"{mode} {lane}" if lane else mode] for lane in range(LANES)]
            print(f"| {LANES} contexts of one process | {mode} | {spread(lanes)} |")
    for way in WAYS:
        costs = [run["change"]["ms"] for run in runs[way]]
        print(f"{way}: a change of size costs {statistics.median(costs):.4f} ms")
        for mode in ("enqueue", "cuda_graph"):
            ratios = [
                statistics.median(run[mode][size] for run in runs[way])
                / statistics.median(run[mode][size] for run in runs["waited"])
                for size in runs[way][0][mode]
            ]
            ends = ", ".join(f"{q:.3f}" for q in np.quantile(ratios, [0, 0.5, 1]))
            print(f"{way} / waited, {mode}: {ends}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(timed(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))
    else:
        main(Path(sys.argv[1]).resolve())
