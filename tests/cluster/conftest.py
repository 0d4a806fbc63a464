"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

ROOT = Path(__file__).parents[2]
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}


@contextmanager
def started() -> Iterator[Any]:
    """A cluster of a head node with one CPU, ended afterwards with all of its nodes."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="pip install 'trt-profile-tuner[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        # Nodes know the tuner under test wherever a command is run; this is what an installed one has.
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=NODE)
        try:
            yield cluster
        finally:
            cluster.shutdown()


@pytest.fixture
def empty_cluster() -> Iterator[Any]:
    """A head node of one CPU; a test adds the nodes that it may kill."""
    with started() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    """Two nodes of one CPU each, which stay; the second has two GPUs of a kind, as Ray sees them."""
    with started() as cluster:
        add_gpu_node(cluster)
        yield cluster


def add_gpu_node(cluster: Any, kind: str = "H200", gpus: int = 2) -> Any:
    return cluster.add_node(
        **NODE,
        num_gpus=gpus,
        resources={f"accelerator_type:{kind}": 1},
    )
