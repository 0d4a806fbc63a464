"""Ingestion on Ray beside the local path: `python -m tests.benchmarks.ingest_on_ray [--rows N] [--file F]`.

Counts one Parquet file here with two threads and on clusters of one and of two CPUs on this machine, in
turns, each in a process of its own. A cluster is timed twice: with workers that have yet to start and import,
and with warm ones. Then merges the histograms of so many made-up nodes as the tree would, and prints what
travels and what it costs.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.ingest import write_parquet
from tuner.cluster.counting_tasks import compacted, merge_counted
from tuner.cluster.merge_tree import MergeTree, Part
from tuner.traffic.cells import Cells
from tuner.traffic.counted import Counted
from tuner.traffic.tally import Tally

NODES, SIZES, BUCKETS = 1000, 2000, 40
AXES = ("batch", "seq")
TICKS = os.sysconf("SC_CLK_TCK")

HERE = """
import json, os, sys, time
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic
for _ in range(2):  # warm, as the workers are the second time
    start, cpu_before = time.perf_counter(), time.process_time()
    traffic = read_traffic(LogSettings(logs=(sys.argv[1],)), None)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_before
print(json.dumps([seconds, cpu, traffic.row_count, len(traffic.histogram)]))
"""
THERE = """
import json, os, sys, time
from tests.benchmarks.ingest_on_ray import cpu_s
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import ray
from tuner.cluster.counting import CountingCluster
from tuner.settings import LogSettings
from tuner.traffic.reading import MapStep, read_traffic
ray.init(address="local", num_cpus=int(sys.argv[2]), include_dashboard=False,
         log_to_driver=False, logging_level="ERROR", object_store_memory=200 << 20)
seconds = []
for _ in range(2):
    counting = CountingCluster(ray)
    start, cpu_before = time.perf_counter(), cpu_s()
    traffic = read_traffic(
        LogSettings(logs=(sys.argv[1],)), None, map_step=MapStep(counting.open_files, counting.count_files)
    )
    seconds.append(time.perf_counter() - start)
print(json.dumps([*seconds, cpu_s() - cpu_before, traffic.row_count, len(traffic.histogram)]))
ray.shutdown()
"""


def timed(program: str, file: Path, cpus: int) -> list[float]:
    command = [sys.executable, "-c", program, str(file), str(cpus)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(json.loads(done.stdout.strip().splitlines()[-1]))


def cpu_s() -> float:
    """CPU seconds of this process and of all that it started and that run: Ray's own and its workers."""
    times: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        times[int(stat.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
    family, grows = {os.getpid()}, True
    while grows:
        more = {pid for pid, (parent, _) in times.items() if parent in family} - family
        family, grows = family | more, bool(more)
    return sum(times[pid][1] for pid in family if pid in times)


def compare(file: Path, repeats: int) -> None:
    names = ("here, 2 threads", "1 worker, cold", "1 worker", "2 workers, cold", "2 workers")
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeats):
        here, cpu, *told = timed(HERE, file, 2)
        seconds[names[0]].append(here)
        print(f"  {names[0]}: {here:.2f} s ({cpu:.1f} s of CPU)", flush=True)
        for cpus, (cold_name, warm_name) in ((1, names[1:3]), (2, names[3:5])):
            cold, warm, cpu, *counted = timed(THERE, file, cpus)
            assert counted == told, "the cluster counted something else"
            seconds[cold_name].append(cold)
            seconds[warm_name].append(warm)
            print(f"  {cold_name}: {cold:.2f} s, warm: {warm:.2f} s ({cpu:.1f} s of CPU)", flush=True)
    base = statistics.median(seconds[names[0]])
    for name, found in seconds.items():
        median = statistics.median(found)
        runs_s = ", ".join(f"{s:.2f}" for s in found)
        print(f"{name:18} {median:7.2f} s   {median / base:5.2f} of here   (runs: {runs_s})")


def node_histogram(node: int) -> Counted:
    """What one node counted of its night: so many sizes, in so many time buckets."""
    random = np.random.default_rng(node)
    counted = Counted(Tally(AXES, 12))
    count = SIZES * BUCKETS
    sizes = np.stack([random.integers(1, 65, SIZES), random.integers(1, 2049, SIZES)])
    starts = np.repeat(np.arange(BUCKETS) * 2160 * 1_000_000, SIZES)
    counted.tally.add(Cells(starts, np.tile(sizes, BUCKETS), random.integers(1, 1000, count)))
    counted.row_count = counted.used_row_count = count
    return compacted(counted)


def simulate_merge() -> None:
    parts = [pickle.dumps(node_histogram(node)) for node in range(NODES)]
    depth: dict[int, float] = {}
    sent = work = 0.0

    def merge(waiting: Sequence[Part]) -> bytes:
        nonlocal sent, work
        promised = [part for _, part in waiting]
        sent += sum(map(len, promised))
        start = time.perf_counter()
        merged = pickle.dumps(merge_counted(AXES, [0] * len(promised), *map(pickle.loads, promised)))
        seconds = time.perf_counter() - start
        work += seconds
        # A merge can begin when the last of its parts is there.
        depth[id(merged)] = seconds + max(depth.get(id(part), 0.0) for part in promised)
        kept.append(merged)
        return merged

    kept: list[bytes] = []
    tree = MergeTree(merge)
    for part in parts:
        tree.add((0, part))
    result = merge(tree.rest())  # as the driver does
    rows = pickle.loads(result).row_count
    assert rows == NODES * SIZES * BUCKETS
    print(
        f"{NODES} nodes, {SIZES} sizes x {BUCKETS} time buckets each: {len(parts[0]) / 1e6:.2f} MB a node, "
        f"{sent / 1e6:.0f} MB sent in all, {work:.1f} CPU seconds of merging, {depth[id(result)]:.1f} s on "
        f"the longest path; the result has {len(result) / 1e6:.1f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    simulate_merge()
    with tempfile.TemporaryDirectory() as folder:
        file = asked.file or Path(folder) / "log.parquet"
        if asked.file is None:
            write_parquet(file, asked.rows)
        compare(file, asked.runs)


if __name__ == "__main__":
    main()
