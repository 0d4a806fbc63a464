"""The options that take a command's work to a Ray cluster, and the cluster that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import tuner
from tuner.commands.options import option

if TYPE_CHECKING:
    from tuner.cluster.building import Builders
    from tuner.cluster.cluster import Cluster

_cluster = partial(option, rich_help_panel="Cluster")

Ray = Annotated[
    str | None,
    _cluster(
        "--ray", "Do the work on a Ray cluster: host:port, auto, or local to start one.", metavar="ADDRESS"
    ),
]
GpuKind = Annotated[
    str | None,
    _cluster("--gpu-kind", "Kind of GPU to build for, like H200, or a custom resource.", metavar="NAME"),
]
AtOnce = Annotated[
    int | None, _cluster("--at-once", "Profiles to build at once; default one for each GPU.", min=1)
]


@contextmanager
def joined_cluster(given: dict[str, Any]) -> Iterator[Cluster | None]:
    """The cluster of `--ray` while the block runs, None where the work stays here."""
    if given["ray"] is None:
        yield None
        return
    from tuner.cluster.cluster import joined

    with joined(given["ray"], tuner.__version__) as cluster:
        yield cluster


def builders_on(cluster: Cluster, given: dict[str, Any]) -> Builders:
    """The nodes that build for a command; TunerError with what they have where none can."""
    from tuner.cluster.building import find_builders
    from tuner.commands.engine_options import workshop_settings
    from tuner.measurements.workshop import set_up

    return find_builders(cluster, given["gpu_kind"], partial(set_up, workshop_settings(given)))
