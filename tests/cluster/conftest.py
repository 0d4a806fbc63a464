"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}


@pytest.fixture
def empty_cluster() -> Iterator[Any]:
    """A head node of one CPU; a test adds the nodes that it may kill."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="pip install 'trt-profile-tuner[ray]'")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=NODE)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def two_nodes(empty_cluster: Any) -> Any:
    """Two nodes of one CPU each; the second has two GPUs of a kind, as Ray sees them."""
    add_gpu_node(empty_cluster)
    return empty_cluster


def add_gpu_node(cluster: Any, kind: str = "H200", gpus: int = 2) -> Any:
    return cluster.add_node(
        **NODE,
        num_gpus=gpus,
        resources={f"accelerator_type:{kind}": 1},
    )
