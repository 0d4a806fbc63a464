"""Where a command's engines are built: on this machine's GPU, on the GPUs of a cluster, or nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.commands import cluster_options, engine_options, options

if TYPE_CHECKING:
    from tuner.cluster.building import Builders
    from tuner.cluster.cluster import Cluster
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.traffic.traffic import Traffic


@dataclass(frozen=True, slots=True)
class BuildingPlace:
    """`told` names the GPU, `at_once` says how many profiles can be built at a time; no builders: here."""

    told: str
    at_once: int
    builders: Builders | None = None

    def source(self, given: dict[str, Any], model: Model, store: Store, traffic: Traffic) -> ProfileSource:
        """Curves for the traffic from real engines, within the budget of the command."""
        from tuner.measurements.built_source import BuildBudget, BuiltSource
        from tuner.recommendation.scored import under_cap

        hours = given["max_hours"]
        budget = BuildBudget(builds=given["builds"], seconds=None if hours is None else hours * 3600)
        inside = under_cap(traffic.histogram, options.whole_numbers("--cap", given["cap"]))
        histogram = traffic.histogram.where(inside)
        if self.builders is None:
            return BuiltSource(engine_options.bench(given, model, store), histogram, budget)
        bench = engine_options.bench(given, model, store, self.builders.tools)
        return self.builders.source(bench, histogram, budget)


def building_place(given: dict[str, Any], cluster: Cluster | None) -> BuildingPlace | None:
    """None where there is no GPU here; TunerError where a cluster was named that cannot build."""
    if cluster is not None:
        builders = cluster_options.builders_on(cluster, given)
        return BuildingPlace(str(builders.tools.environment), builders.gpu_count, builders)
    from tuner.measurements.gpu_state import gpu_facts

    gpu = gpu_facts(given["device"])
    return None if gpu is None else BuildingPlace(str(gpu), 1)
