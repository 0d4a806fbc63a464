"""Candidates on a real cluster whose engines are the recorded stand-ins; a node has a folder of its own."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import numpy as np

from tests.stand_ins.stand_in_bench import stand_in_bench, stand_in_tools
from tuner.axes import Size
from tuner.cluster.building import Builders, find_builders
from tuner.cluster.cluster import Cluster
from tuner.measurements.bench import Bench, Tools
from tuner.measurements.store import Store
from tuner.profiles.profile import OptimizationProfile
from tuner.traffic.histogram import SizeHistogram

AXES = ("batch", "seq")
SIZES = np.array([[1, 16], [1, 64], [4, 128], [64, 512]], dtype=np.int64)
TRAFFIC = SizeHistogram(AXES, SIZES, np.array([5, 10, 3, 1]))


def whole(opt: tuple[int, int]) -> OptimizationProfile:
    return OptimizationProfile(Size(AXES, (1, 16)), Size(AXES, opt), Size(AXES, (64, 512)))


def node_tools(folder: Path) -> Tools:
    """The tools of a node, whose plans no other node sees."""
    import ray

    return stand_in_tools(folder / ray.get_runtime_context().get_node_id())


def slow_node_tools(folder: Path) -> Tools:
    """The same, with timings that take 0.3 s each."""
    tools = node_tools(folder)
    (tools.plans.folder / "slow_timing").mkdir(parents=True, exist_ok=True)
    return tools


def recorded_builders(cluster: Cluster, folder: Path, kind: str | None = None) -> Builders:
    return find_builders(cluster, kind, partial(node_tools, folder))


def driver_bench(builders: Builders, folder: Path, store: Store) -> Bench:
    """The stand-in bench with the driver's tools, which build nothing."""
    return dataclasses.replace(stand_in_bench(folder, store), tools=builders.tools)
