"""The driver of builds and measurements: a task for each wish, and every outcome stored as it comes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from tuner.cluster.candidates import Failure, Job, MakeTools, Wish, carry_out, look_around
from tuner.cluster.cluster import Cluster
from tuner.cluster.connection import ray_errors
from tuner.cluster.desk import CostsReport, Desk, EngineReport, Report, TimedReport
from tuner.cluster.elsewhere import NeedsCluster
from tuner.cluster.nodes import GpuKind, living_nodes
from tuner.engines.spec import Environment
from tuner.errors import RunFailed, TunerError
from tuner.measurements.bench import Bench

RETRIES = 2
"""How often Ray runs a candidate again whose worker or node was lost; then it is a failed outcome."""
_FETCH_S = 0.5
_NO_NODE_S = 300.0
"""How long a run waits for a node with such a GPU when the last one is gone: a cluster may grow again."""

Answer = TypeVar("Answer")


def environment_on(cluster: Cluster, kind: GpuKind, make_tools: MakeTools) -> tuple[Environment, int | None]:
    """What engines are built and timed on, as a node with such a GPU sees it, before the first build.

    Raises TunerError with what that node lacks.
    """
    look = cluster.ray.remote(look_around).options(num_gpus=1, num_cpus=0, resources=kind.demand)
    with ray_errors(cluster.ray):
        environment, gpu_bytes, problem = cluster.ray.get(look.remote(make_tools))
    if environment is None:
        raise TunerError(f"the cluster's {kind.name} nodes cannot build: {problem}")
    return environment, gpu_bytes


def _beside_driver(ray: Any) -> Any:
    """Where what the driver cannot do without belongs: any other node may be lost without it."""
    node_id = ray.get_runtime_context().get_node_id()
    return ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)


class Crew:
    """Tasks that build and time; the bench is the driver's own, over the store that only it writes."""

    def __init__(self, cluster: Cluster, kind: GpuKind, job: Job, bench: Bench) -> None:
        self._ray = cluster.ray
        self._kind = kind
        self._job = self._ray.put(job)
        self._bench = bench
        self._desk = self._ray.remote(num_cpus=0, scheduling_strategy=_beside_driver(self._ray))(
            Desk
        ).remote()
        self._task = self._ray.remote(
            num_gpus=1, num_cpus=1, resources=kind.demand, max_retries=RETRIES, retry_exceptions=False
        )(carry_out)
        self._out: dict[str, Any] = {}

    def start(self, wish: Wish) -> None:
        """Have a wish worked on, unless it is or was; Ray decides when and where."""
        spec = self._bench.spec(wish.profiles)
        if spec.key not in self._out:
            known = self._known(wish)
            self._out[spec.key] = self._task.remote(self._job, wish, spec.key, known, self._desk)

    def answer(self, ask: Callable[[], Answer], wish: Wish) -> Answer:
        """What `ask` gets from the store, once the cluster has put there what it lacks.

        Raises RunFailed with the worker's kind and reason, of kind `lost` where workers were lost too often.
        """
        try:
            return ask()
        except NeedsCluster:
            self.start(wish)
        failure = self._wait(self._bench.spec(wish.profiles).key)
        try:
            return ask()
        except NeedsCluster:
            told = failure or Failure("lost", "a worker ended without timing all of it")
            raise RunFailed(told.reason, told.kind) from None

    def _known(self, wish: Wish) -> list[Report]:
        reports: list[Report] = []
        for engine in self._bench.builds(self._bench.spec(wish.profiles)):
            timed = self._bench.recorded(engine).measurements
            reports.append(EngineReport(engine))
            if timed:
                reports.append(TimedReport(engine.spec.key, engine.repeat, timed))
        return reports

    def _wait(self, spec_key: str) -> Failure | None:
        promised = self._out[spec_key]
        last_node_s = time.monotonic()
        while True:
            with ray_errors(self._ray):
                done, _ = self._ray.wait([promised], timeout=_FETCH_S)
                self._fetch()
            if done:
                break
            if any(self._fits(node.resources) for node in living_nodes(self._ray)):
                last_node_s = time.monotonic()
            elif time.monotonic() - last_node_s > _NO_NODE_S:
                raise TunerError(
                    f"no node with a GPU of kind {self._kind.name} is left in the cluster; what was measured "
                    "is in the store, so start one and run again"
                )
        del self._out[spec_key]
        failure = self._outcome(promised, spec_key)
        self._fetch()
        return failure

    def _outcome(self, promised: Any, spec_key: str) -> Failure | None:
        exceptions = self._ray.exceptions
        try:
            with ray_errors(self._ray):
                return self._ray.get(promised)  # type: ignore[no-any-return]  # as `carry_out` says
        except TunerError as error:
            if isinstance(error.__cause__, exceptions.RayTaskError):
                raise  # an error of ours, which concerns the whole run
            attempts = self._ray.get(self._desk.attempts.remote(spec_key))
            return Failure("lost", f"its worker was lost in each of {attempts} attempts ({error})")

    def _fits(self, resources: Any) -> bool:
        return resources.get("GPU", 0) >= 1 and all(name in resources for name in self._kind.demand)

    def _fetch(self) -> None:
        """Store what was reported since the last time."""
        for report in self._ray.get(self._desk.fetch.remote()):
            if isinstance(report, EngineReport):
                self._bench.store.add_engine(self._bench.model, report.engine)
            elif isinstance(report, CostsReport):
                self._bench.store.add_switch_costs(report.key, report.repeat, report.costs)
            else:
                self._bench.store.add_measurements(report.key, report.repeat, report.measurements)
