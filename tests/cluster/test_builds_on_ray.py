"""Candidates built and timed by real workers of Ray: the same as here, whatever is lost on the way."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tuner
from tests.cluster.conftest import add_gpu_node
from tests.cluster.recorded_crew import (
    SIZES,
    TRAFFIC,
    driver_bench,
    node_tools,
    recorded_builders,
    slow_node_tools,
    whole,
)
from tests.stand_ins.recorded_engine import RECORDED
from tests.stand_ins.stand_in_bench import stand_in_bench
from tuner.cluster.building import find_builders
from tuner.cluster.cluster import joined
from tuner.errors import TunerError
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.flat_parquet import read_flat
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.source import FailedProfile, MeasuredProfile
from tuner.measurements.store import Store, open_store
from tuner.profiles.profile import ProfileSet
from tuner.replay.score import Judge
from tuner.search.search import Problem, SearchSettings, search
from tuner.search.space import space_of_candidates

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")

BUDGET = BuildBudget(builds=20)


def stored(store: Store) -> list[Any]:
    """Everything in the store but the seconds that a build took and its date."""
    return [
        (e.spec.key, e.repeat, e.outcome, sorted(store.measurements(e.spec.key, e.repeat), key=str))
        for e in sorted(store.engines(), key=lambda e: (e.spec.key, e.repeat))
    ]


def test_curves_sets_and_store_are_those_of_one_machine(two_nodes: Any, tmp_path: Path) -> None:
    opts = [(4, 128), (1, 32), (64, 512)]
    pair = ProfileSet((whole((1, 32)), whole((64, 512))))
    with open_store(f"sqlite:///{tmp_path}/here.db") as store:
        here = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BUDGET)
        expected = [here.measure(whole(opt), SIZES) for opt in opts], here.confirm(pair), here.facts
        rows = stored(store)
    with (
        joined(two_nodes.address, tuner.__version__) as cluster,
        open_store(f"sqlite:///{tmp_path}/there.db") as store,
    ):
        builders = recorded_builders(cluster, tmp_path / "nodes")
        assert builders.gpu_count == 2
        source = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)
        for opt in opts:
            source.start(whole(opt))
        found = [source.measure(whole(opt), SIZES) for opt in reversed(opts)][::-1]
        assert_equal((found, source.confirm(pair), source.facts), expected)
        assert stored(store) == rows


def assert_equal(found: Any, expected: Any) -> None:
    for one, other in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        assert isinstance(one, MeasuredProfile)
        assert (one.profile, one.engine_keys) == (other.profile, other.engine_keys)
        for mode in Mode:
            np.testing.assert_array_equal(one.curve(mode).sizes, other.curve(mode).sizes)
            np.testing.assert_array_equal(one.curve(mode).latency_ms, other.curve(mode).latency_ms)
    assert found[2] == expected[2]


def test_failed_build_is_the_outcome_that_it_is_here(two_nodes: Any, tmp_path: Path) -> None:
    wide = whole((4, 128)).max.replaced("seq", 1024)
    profile = dataclasses.replace(whole((4, 128)), max=wide)
    with open_store(f"sqlite:///{tmp_path}/here.db") as store:
        expected = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BUDGET).measure(profile, SIZES)
    with (
        joined(two_nodes.address, tuner.__version__) as cluster,
        open_store(f"sqlite:///{tmp_path}/there.db") as store,
    ):
        builders = recorded_builders(cluster, tmp_path / "nodes")
        source = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)
        assert source.measure(profile, SIZES) == expected
        assert isinstance(expected, FailedProfile)


def kill_timing_worker(folder: Path) -> None:
    """Kill the worker whose child is timing a plan in the folder: the child's log tells them apart."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_child = b"recorded_engine.py\0measure" in (process / "cmdline").read_bytes()
            if is_child and os.readlink(process / "fd" / "1").startswith(str(folder)):
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                os.kill(parent, signal.SIGKILL)
                return
        except OSError:
            continue
    raise AssertionError("nothing is being timed")


def when_timed(store_url: str, count: int, act: Any) -> threading.Thread:
    """Act as soon as so many measurements are stored; only the driver writes, so they have come back."""

    def watch() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open_store(store_url) as store:
                timed = [m for e in store.engines() for m in store.measurements(e.spec.key, e.repeat)]
            if len(timed) >= count:
                act()
                return
            time.sleep(0.1)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_killed_worker_is_run_again_and_nothing_is_timed_twice(two_nodes: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/there.db"
    with joined(two_nodes.address, tuner.__version__) as cluster, open_store(url) as store:
        builders = find_builders(cluster, None, partial(slow_node_tools, tmp_path / "nodes"))
        source = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)
        killer = when_timed(url, 2, lambda: kill_timing_worker(tmp_path))
        found = source.measure(whole((4, 128)), SIZES)
        killer.join()
        (engine,) = store.engines()
        measured = store.measurements(engine.spec.key, 0)
    assert isinstance(found, MeasuredProfile)
    assert len({(m.size, m.mode) for m in measured}) == len(measured) == 12
    logs = list((tmp_path / "nodes").glob("*/logs/*.engine.log"))
    assert len(logs) == 1


def test_node_lost_in_the_middle_is_made_up_for_by_another(empty_cluster: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/there.db"
    nodes = {node.node_id: node for node in (add_gpu_node(empty_cluster, gpus=1) for _ in range(2))}
    with joined(empty_cluster.address, tuner.__version__) as cluster, open_store(url) as store:
        builders = find_builders(cluster, None, partial(slow_node_tools, tmp_path / "nodes"))
        source = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)

        def lose_node() -> None:
            (log,) = (tmp_path / "nodes").glob("*/logs/*.run.log")
            empty_cluster.remove_node(nodes[log.parents[1].name], allow_graceful=False)

        killer = when_timed(url, 2, lose_node)
        found = source.measure(whole((4, 128)), SIZES)
        killer.join()
        repeats = [engine.repeat for engine in store.engines()]
        whole_build = store.measurements(store.engines()[-1].spec.key, repeats[-1])
    # The plan went with its node, so the engine was built once more and timed whole.
    assert isinstance(found, MeasuredProfile)
    assert repeats == [0, 1]
    assert len(whole_build) == 12


def deadly_tools(folder: Path) -> Any:
    """Tools of a node on which every worker dies by signal, but for the first look."""
    if (folder / "seen").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "seen").touch()
    return node_tools(folder)


def test_candidate_that_kills_every_worker_is_one_failed_outcome(two_nodes: Any, tmp_path: Path) -> None:
    with (
        joined(two_nodes.address, tuner.__version__) as cluster,
        open_store(f"sqlite:///{tmp_path}/there.db") as store,
    ):
        builders = find_builders(cluster, None, partial(deadly_tools, tmp_path / "nodes"))
        source = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)
        found = source.measure(whole((4, 128)), SIZES)
    assert isinstance(found, FailedProfile)
    assert found.kind == "lost"
    assert "lost" in found.reason


DRIVER = """
import sys
from functools import partial
from pathlib import Path
import tuner
from tests.cluster.recorded_crew import *
from tuner.cluster.building import find_builders
from tuner.cluster.cluster import joined
from tuner.measurements.built_source import BuildBudget
from tuner.measurements.store import open_store
address, folder = sys.argv[1], Path(sys.argv[2])
with joined(address, tuner.__version__) as cluster, open_store(f"sqlite:///{folder}/there.db") as store:
    builders = find_builders(cluster, None, partial(slow_node_tools, folder / "nodes"))
    bench = driver_bench(builders, folder, store)
    builders.source(bench, TRAFFIC, BuildBudget(builds=20)).measure(whole((4, 128)), SIZES)
"""


def test_driver_killed_and_started_again_goes_on_from_the_store(two_nodes: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/there.db"
    command = [sys.executable, "-c", DRIVER, two_nodes.address, str(tmp_path)]
    root = str(Path(__file__).parents[2])
    first = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": root}, stderr=subprocess.DEVNULL)
    when_timed(url, 4, first.kill).join()
    assert first.wait() == -signal.SIGKILL
    with open_store(url) as store:
        before = stored(store)
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": root}, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
    with open_store(url) as store:
        after = stored(store)
    kept = set(map(str, before[0][3]))
    assert len(kept) >= 4
    assert kept <= set(map(str, after[0][3]))
    assert [len(rows[3]) for rows in after] == [12]


def test_no_gpu_is_said_with_what_the_nodes_have(empty_cluster: Any, tmp_path: Path) -> None:
    with (
        joined(empty_cluster.address, tuner.__version__) as cluster,
        pytest.raises(TunerError, match=r"no node of the cluster has a GPU: \S+ has 1 CPU"),
    ):
        recorded_builders(cluster, tmp_path)


def no_tensorrt(folder: Path) -> Any:
    raise TunerError("tensorrt cannot be imported")


def test_no_tensorrt_is_said_before_the_first_build(two_nodes: Any, tmp_path: Path) -> None:
    with (
        joined(two_nodes.address, tuner.__version__) as cluster,
        pytest.raises(TunerError, match=r"H200 nodes cannot build: \S+: tensorrt cannot be imported"),
    ):
        find_builders(cluster, None, partial(no_tensorrt, tmp_path))


def test_other_version_of_the_driver_is_refused(two_nodes: Any) -> None:
    with (
        pytest.raises(TunerError, match=r"tuner is 9\.9 here, but \S+ has .*==9\.9"),
        joined(two_nodes.address, "9.9"),
    ):
        pass


def test_two_kinds_of_gpu_are_never_mixed(two_nodes: Any, tmp_path: Path) -> None:
    other = add_gpu_node(two_nodes, kind="L4", gpus=1)
    with joined(two_nodes.address, tuner.__version__) as cluster:
        with pytest.raises(TunerError, match=r"several kinds .*choose with --gpu-kind H200"):
            recorded_builders(cluster, tmp_path)
        assert recorded_builders(cluster, tmp_path, "L4").gpu_count == 1
        with pytest.raises(TunerError, match="--gpu-kind L5: no node has such a GPU; did you mean 'L4'"):
            recorded_builders(cluster, tmp_path, "L5")
    two_nodes.remove_node(other)


def test_search_with_two_at_once_goes_the_same_way_as_here(two_nodes: Any, tmp_path: Path) -> None:
    recorded = read_flat(RECORDED)
    candidates = RecordedSource(recorded.model, recorded.engines).candidates()
    space = space_of_candidates(candidates, TRAFFIC.smallest, TRAFFIC.largest)
    judge = Judge(TRAFFIC, TRAFFIC.counts.astype(float))
    problem = Problem(space, judge, (), recorded.model.content_hash or "")
    settings = SearchSettings(builds=5, at_once=2, stops_early=False)
    here_url, there_url = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there"))
    with open_store(here_url) as store:
        source = BuiltSource(stand_in_bench(tmp_path, store), TRAFFIC, BUDGET)
        here = search(problem, settings, source, here_url)
    with joined(two_nodes.address, tuner.__version__) as cluster, open_store(there_url) as store:
        builders = recorded_builders(cluster, tmp_path / "nodes")
        on_ray = builders.source(driver_bench(builders, tmp_path, store), TRAFFIC, BUDGET)
        there = search(problem, settings, on_ray, there_url)
    assert there.trials == here.trials
    assert on_ray.facts == source.facts
