"""Why two processes time one engine differently: `python tests/benchmarks/process_spread.py FOLDER [WAY...]`.

One encoder engine is timed in many processes, in turns in several ways: as `tuner` times (each run is waited
for before the next is put on the stream), queued (each run behind another, as trtexec does unless it is
called with `--exposeDMA`), gated (the stream is held until the whole run is on it, so that no launch comes
late), and each of these on one processor (`pinned`, `gated_pinned`). Printed is how far apart processes are,
for each size and mode, after one visit of a size and after all; how far apart the visits of one process are;
how far apart execution contexts, each with a stream of its own, are within one process; and what a change of
size costs when it is waited for and when it is queued.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
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
VISITS = 4
WAYS = ("waited", "queued", "gated", "pinned", "gated_pinned")
SIZES = GRID[::6]
CHANGES = 200
LANES = 3
Run = dict[str, dict[str, list[float]]]
"""Medians (ms) of each visit by mode or lane, and size; `change` has what a change of size costs."""


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


def gated_times(lane: Lane, work: Callable[[], None], count: int) -> list[float]:
    """As `Lane.event_times`, with the stream held until all of a run is on it.

    The host opens the gate by writing to memory that the stream waits on.
    """
    from cuda.bindings import driver

    flag = lane.cuda.pagelocked_zeros(1, np.uint32, mem_flags=lane.cuda.host_alloc_flags.DEVICEMAP)
    address, stream = int(flag.base.get_device_pointer()), driver.CUstream(lane.stream.handle)
    at_least = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ
    before, after = lane.cuda.Event(), lane.cuda.Event()
    times = []
    for turn in range(1, count + 1):
        (error,) = driver.cuStreamWaitValue32(stream, driver.CUdeviceptr(address), turn, int(at_least))
        if int(error):
            sys.exit(f"the stream does not wait: {error.name}")
        before.record(lane.stream)
        work()
        after.record(lane.stream)
        flag[0] = turn
        after.synchronize()
        times.append(float(after.time_since(before)))
    return times


def timed(plan: Path, model_path: Path, way: str) -> Run:
    """What one process sees."""
    if "pinned" in way:
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    ways = {"queued": queued_times, "gated": gated_times}
    if (event_times := ways.get(way.removesuffix("_pinned"))) is not None:
        Lane.event_times = event_times  # type: ignore[method-assign]
    model = read_onnx(model_path)
    runner = TensorRTRunner()
    runner.open(plan, fill_for(model, model_path))
    tasks = [SizeTask.of(model, Size(("batch", "seq"), values), 0) for values in SIZES]
    found: Run = {}
    runner.time(max(tasks, key=lambda task: task.size.work), SamplingRule())  # heating
    for lane in range(LANES if way == "waited" else 1):
        if lane:
            opened: Any = runner._opened
            opened.lanes.clear()  # the next one has a context, a stream and memory of its own
        for _ in range(1 if lane else VISITS):
            visit(runner, tasks, found, lane)
    found["change"] = {"ms": [change_ms(runner, tasks, way)]}
    runner.close()
    return found


def visit(runner: TensorRTRunner, tasks: list[SizeTask], found: Run, lane: int) -> None:
    """Time every size once, in random order."""
    for task in random.sample(tasks, len(tasks)):
        timing = runner.time(task, SamplingRule())
        medians = {str(mode): statistics.median(ms) for mode, ms in timing.samples_ms.items()}
        medians["host"] = timing.enqueue_ms
        for name, median in medians.items():
            by_size = found.setdefault(f"{name} {lane}" if lane else name, {})
            by_size.setdefault(task.size.short, []).append(median)


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


def spread(values: list[list[float]]) -> str:
    """Of each list the standard deviation, and largest less smallest, both over the middle.

    Median and largest of each over the lists.
    """
    deviations = [statistics.stdev(one) / statistics.median(one) for one in values]
    ranges = [(max(one) - min(one)) / statistics.median(one) for one in values]
    parts = [f"{statistics.median(shares):.2%} | {max(shares):.2%}" for shares in (deviations, ranges)]
    return " | ".join(parts)


def between(runs: list[dict[str, list[float]]], visits: int) -> list[list[float]]:
    """For each size, in their order, what each process has as the median of its first visits."""
    return [[statistics.median(run[size][:visits]) for run in runs] for size in sorted(runs[0])]


def engine(folder: Path) -> tuple[Path, Path]:
    """Build the encoder at 4x128 once; its plan and its model."""
    with open_store(url(folder)) as store:
        bench = bench_of("encoder", folder, store)
        profiles = encoder_over((4, 128))
        built_and_timed(bench, profiles, GRID[:1])
        return bench.tools.plans.path(bench.spec(ProfileSet((profiles,))).key, 0), bench.model_path


def main(folder: Path, ways: Sequence[str]) -> None:
    plan, model_path = engine(folder)
    runs: dict[str, list[Run]] = {way: [] for way in ways}
    for _, way in itertools.product(range(PROCESSES), ways):
        command = [sys.executable, __file__, "--one", str(plan), str(model_path), way]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT_S)
        runs[way].append(json.loads(done.stdout.splitlines()[-1]))
        (folder / "process_spread.json").write_text(json.dumps(runs))
    report(runs)


def report(runs: dict[str, list[Run]]) -> None:
    print(f"{PROCESSES} processes, {len(SIZES)} sizes: how far apart medians are")
    print("| way | mode | between | deviation, middle size | at most | range, middle size | at most |")
    print("|---|---|---|---|---|---|---|")
    for way, mode in itertools.product(runs, ("enqueue", "cuda_graph")):
        of_mode = [run[mode] for run in runs[way]]
        for visits in range(1, VISITS + 1):
            print(f"| {way} | {mode} | processes, {visits} visits | {spread(between(of_mode, visits))} |")
        within = [visits for run in of_mode for visits in run.values()]
        print(f"| {way} | {mode} | {VISITS} visits of a process | {spread(within)} |")
    for mode in ("enqueue", "cuda_graph"):
        for run in runs.get("waited", []):
            lanes = [run[f"{mode} {lane}" if lane else mode] for lane in range(LANES)]
            print(f"| waited | {mode} | {LANES} contexts of one process | {spread(between(lanes, 1))} |")
    for way in runs:
        costs = [run["change"]["ms"][0] for run in runs[way]]
        print(f"{way}: a change of size costs {statistics.median(costs):.4f} ms")
        for mode in ("enqueue", "cuda_graph") if "waited" in runs else ():
            ratios = [
                statistics.median(own) / statistics.median(other)
                for own, other in zip(
                    between([run[mode] for run in runs[way]], VISITS),
                    between([run[mode] for run in runs["waited"]], VISITS),
                    strict=True,
                )
            ]
            ends = ", ".join(f"{q:.3f}" for q in np.quantile(ratios, [0, 0.5, 1]))
            print(f"{way} / waited, {mode}: {ends}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(timed(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])))
    else:
        main(Path(sys.argv[1]).resolve(), sys.argv[2:] or WAYS)
