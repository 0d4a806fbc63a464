"""Sets up builds on a cluster: which GPUs, what they are as a node sees them, who works for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.cluster.candidates import Job, MakeTools, PlacesWish
from tuner.cluster.cluster import Cluster
from tuner.cluster.crew import Crew, environment_on
from tuner.cluster.elsewhere import tools_elsewhere
from tuner.cluster.nodes import GpuKind, choose_kind
from tuner.cluster.ray_source import RaySource
from tuner.measurements.bench import Bench, Place, Tools
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.measurement import BuiltEngine
from tuner.profiles.profile import ProfileSet
from tuner.traffic.histogram import SizeHistogram


@dataclass(frozen=True, slots=True)
class Builders:
    """The nodes that build: their kind of GPU, how each sets up its tools, and the tools of the driver."""

    cluster: Cluster
    kind: GpuKind
    make_tools: MakeTools
    tools: Tools

    @property
    def gpu_count(self) -> int:
        """GPUs of that kind: as many candidates can be under way at once."""
        fitting = (
            node for node in self.cluster.nodes if all(name in node.resources for name in self.kind.demand)
        )
        return max(1, int(sum(node.gpu_count for node in fitting)))

    def crew(self, bench: Bench, histogram: SizeHistogram | None = None) -> Crew:
        """Tasks for the bench's model; the histogram is the traffic that curves are for."""
        job = Job(
            model_path=bench.model_path,
            model_hash=bench.model.content_hash or "",
            fill=bench.fill,
            choices=bench.choices,
            visiting=bench.visiting,
            environment=self.tools.environment,
            make_tools=self.make_tools,
            histogram=histogram,
        )
        return Crew(self.cluster, self.kind, job, bench)

    def source(self, bench: Bench, histogram: SizeHistogram, budget: BuildBudget) -> RaySource:
        """Curves for the traffic, from the store or from the nodes."""
        return RaySource(BuiltSource(bench, histogram, budget), self.crew(bench, histogram))

    def swept(self, bench: Bench, profiles: ProfileSet, places: Sequence[Place]) -> BuiltEngine:
        """An engine, timed at these places on one of the nodes; EngineError where that fails."""
        wish = PlacesWish(profiles, tuple(places))
        return self.crew(bench).answer(lambda: bench.swept(profiles, places), wish)


def find_builders(cluster: Cluster, asked_kind: str | None, make_tools: MakeTools) -> Builders:
    """The nodes that can build, before the first build.

    Raises TunerError with what the nodes have where none has a GPU, TensorRT or a choice has to be made.
    """
    kind = choose_kind(cluster.nodes, asked_kind)
    environment, gpu_bytes = environment_on(cluster, kind, make_tools)
    return Builders(cluster, kind, make_tools, tools_elsewhere(environment, gpu_bytes))
