"""What the nodes of a cluster have: their tuner, their GPUs and of which kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tuner.cluster.connection import ray_errors
from tuner.errors import TunerError, nearest_name

KIND_PREFIX = "accelerator_type:"
"""How Ray names the resource of a kind of GPU; it finds the kind of a node's GPUs on its own."""
_MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Node:
    """A living node with its resources, as `ray status` counts them; `version` is that of its tuner."""

    node_id: str
    host: str
    resources: Mapping[str, float]
    version: str | None = None

    @property
    def gpu_count(self) -> float:
        return self.resources.get("GPU", 0.0)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its GPUs, without Ray's prefix; none where Ray could not tell."""
        return tuple(
            sorted(name.removeprefix(KIND_PREFIX) for name in self.resources if name.startswith(KIND_PREFIX))
        )

    def __str__(self) -> str:
        counted = [f"{self.resources[name]:g} {name}" for name in ("CPU", "GPU") if name in self.resources]
        return f"{self.host} has {', '.join([*counted, *self.kinds]) or 'nothing'}"


def living_nodes(ray: Any) -> list[Node]:
    return [
        Node(found["NodeID"], found["NodeManagerHostname"], found["Resources"])
        for found in ray.nodes()
        if found["Alive"]
    ]


def check_versions(ray: Any, version: str) -> list[Node]:
    """The living nodes, each of which was asked for the version of its tuner.

    Raises TunerError where a node has none or another one: what they count and measure could differ.
    """
    nodes = living_nodes(ray)
    look = ray.remote(_looker())
    on = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    asked = [
        look.options(num_cpus=0, scheduling_strategy=on(node_id=node.node_id, soft=False)).remote()
        for node in nodes
    ]
    with ray_errors(ray):
        versions = ray.get(asked)
    found = [replace(node, version=version) for node, version in zip(nodes, versions, strict=True)]
    refuse_other_versions(found, version)
    return found


def _looker() -> Any:
    # A function made here travels as code, so that it runs where there is no tuner at all.
    def look() -> str | None:
        import importlib

        try:
            return str(importlib.import_module("tuner").__version__)
        except ImportError:
            return None

    return look


def refuse_other_versions(nodes: Sequence[Node], version: str) -> None:
    """TunerError that names every node whose tuner is not of this version."""
    others = [node for node in nodes if node.version != version]
    if others:
        shown = ", ".join(f"{node.host} has {node.version or 'none'}" for node in others[:_MOST_SHOWN])
        raise TunerError(
            f"tuner is {version} here, but {shown}; driver and workers have to run the same: "
            f"pip install 'trt-profile-tuner=={version}' there"
        )


@dataclass(frozen=True, slots=True)
class GpuKind:
    """Nodes whose GPUs are one kind: `resource` is what a task asks for beside its GPU, if anything."""

    name: str
    resource: str | None

    @property
    def demand(self) -> dict[str, float]:
        """A trace of the custom resource: it tells the kind, and the GPU itself is what is used up."""
        return {} if self.resource is None else {self.resource: 0.001}


def choose_kind(nodes: Sequence[Node], asked: str | None) -> GpuKind:
    """The kind of GPU that all engines of a run are built for.

    Raises TunerError where no node has a GPU, and where there are several kinds and none was asked for.
    """
    with_gpu = [node for node in nodes if node.gpu_count >= 1]
    if not with_gpu:
        raise TunerError(f"no node of the cluster has a GPU: {_shown(nodes)}; start one with `ray start`")
    names = sorted({kind for node in with_gpu for kind in node.kinds})
    if asked is not None:
        return GpuKind(asked, _resource_of(with_gpu, asked, names))
    if len(names) > 1 or (names and not all(node.kinds for node in with_gpu)):
        raise TunerError(
            f"the cluster has GPUs of several kinds ({_shown(with_gpu)}), and engines of one kind say "
            f"nothing about another; choose with --gpu-kind {names[0]}"
        )
    return GpuKind(names[0], KIND_PREFIX + names[0]) if names else GpuKind("GPU", None)


def _resource_of(nodes: Sequence[Node], kind: str, names: Sequence[str]) -> str:
    """Ray's own resource of that kind, or a custom one of that very name."""
    for name in (KIND_PREFIX + kind, kind):
        if any(name in node.resources for node in nodes):
            return name
    raise TunerError(f"--gpu-kind {kind}: no node has such a GPU{nearest_name(kind, names)}; {_shown(nodes)}")


def _shown(nodes: Sequence[Node]) -> str:
    more = f" and {len(nodes) - _MOST_SHOWN} more" if len(nodes) > _MOST_SHOWN else ""
    return "; ".join(str(node) for node in nodes[:_MOST_SHOWN]) + more
