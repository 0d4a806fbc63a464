"""A cluster that was joined: its nodes, all with the same tuner, and the map step on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tuner.cluster.connection import connected
from tuner.cluster.counting import CountingCluster
from tuner.cluster.nodes import Node, check_versions
from tuner.traffic.reading import MapStep


@dataclass(frozen=True, slots=True)
class Cluster:
    """Ray's module, connected, and the nodes that were there when it was joined."""

    ray: Any
    nodes: tuple[Node, ...]

    @property
    def map_step(self) -> MapStep:
        counting = CountingCluster(self.ray)
        return MapStep(counting.open_files, counting.count_files)


@contextmanager
def joined(address: str, version: str) -> Iterator[Cluster]:
    """The cluster at an address, left again afterwards; `version` is that of the driver's tuner.

    Raises TunerError where Ray is missing, nothing answers, or a node's tuner is of another version.
    """
    with connected(address) as ray:
        yield Cluster(ray, tuple(check_versions(ray, version)))
