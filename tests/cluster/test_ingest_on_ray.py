"""Ingestion on two real nodes of Ray gives what one machine gives, also when a node is lost on the way."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tuner
from tests.cluster.conftest import add_gpu_node
from tests.cluster.log_files import write_lines, write_parquet
from tests.cluster.same_traffic import facts
from tuner.cluster.cluster import joined
from tuner.cluster.counting import CountingCluster
from tuner.errors import TunerError
from tuner.settings import LogSettings
from tuner.traffic.reading import MapStep, read_traffic

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")

TRACES = Path(os.environ.get("TUNER_TRACES", Path(__file__).parents[3] / "shared" / "traces"))
START = 1_700_000_000


def test_every_shared_trace_counts_the_same(two_nodes: Any) -> None:
    if not TRACES.is_dir():
        pytest.skip(f"the traces are not at {TRACES}; name their folder in TUNER_TRACES")
    with joined(two_nodes.address, tuner.__version__) as cluster:
        counting = CountingCluster(cluster.ray, unit_bytes=1 << 18)
        step = MapStep(counting.open_files, counting.count_files)
        for trace in sorted([*TRACES.glob("*.parquet"), *TRACES.glob("*.csv"), *TRACES.glob("*.gz")]):
            logs = LogSettings(logs=(str(trace),), max_rejected=1.0)
            assert outcome(logs, step) == outcome(logs), trace.name


def wait_until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.1)


def outcome(logs: LogSettings, step: MapStep | None = None) -> Any:
    """The traffic, or the words with which the trace is refused."""
    try:
        return facts(read_traffic(logs, None, **({"map_step": step} if step else {})))
    except TunerError as error:
        return str(error)


def write_logs(folder: Path) -> LogSettings:
    rows = [{"time": START + n, "batch": 1 + n % 4, "seq": 1 + n % 700} for n in range(30_000)]
    for row in rows[::977]:
        row["batch"] = 0
    for number in range(4):
        write_lines(folder / f"{number}.jsonl", [json.dumps(row) for row in rows])
    write_lines(folder / "untimed.jsonl", [{"batch": 2, "seq": 1 + n % 50} for n in range(50_000)])
    write_parquet(folder / "z.parquet", rows, 5_000)
    return LogSettings(logs=(str(folder),), max_rejected=1.0)


def test_logs_of_several_forms_count_the_same(two_nodes: Any, tmp_path: Path) -> None:
    logs = write_logs(tmp_path)
    with joined(two_nodes.address, tuner.__version__) as cluster:
        counting = CountingCluster(cluster.ray, unit_bytes=1 << 20)
        traffic = read_traffic(logs, None, map_step=MapStep(counting.open_files, counting.count_files))
    assert facts(traffic) == facts(read_traffic(logs, None))


def test_node_that_is_lost_on_the_way_changes_nothing(empty_cluster: Any, tmp_path: Path) -> None:
    logs = write_logs(tmp_path)
    lost = add_gpu_node(empty_cluster)
    done: list[int] = []

    def kill_after_some() -> None:
        while len(done) < 3:
            time.sleep(0.01)
        empty_cluster.remove_node(lost, allow_graceful=False)

    with joined(empty_cluster.address, tuner.__version__) as cluster:
        counting = CountingCluster(cluster.ray, unit_bytes=1 << 18)
        killer = threading.Thread(target=kill_after_some)
        killer.start()
        step = MapStep(counting.open_files, counting.count_files)
        traffic = read_traffic(logs, None, lambda done_bytes, rows: done.append(rows), step)
        killer.join()
        wait_until(lambda: sum(node["Alive"] for node in cluster.ray.nodes()) == 1)
    assert facts(traffic) == facts(read_traffic(logs, None))
