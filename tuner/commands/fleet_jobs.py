"""The jobs of a fleet at work: rounds of searching under one budget, then a decision and document each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tuner.commands import options
from tuner.commands.fleet_file import Fleet
from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.cluster.cluster import Cluster
    from tuner.commands.prepared import Prepared
    from tuner.commands.publishing import Started
    from tuner.recommendation.fleet import Standing
    from tuner.recommendation.recommendation import Recommendation

Say = Callable[[str], None]


class FleetJob:
    """One model on one kind of GPU; a problem of the user ends this job, and the others go on."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        self.name = name
        self.given = given
        self.problem: str | None = None
        self.found: Recommendation | None = None
        self.standing: Standing | None = None
        self.builds = 0
        self._prepared: Prepared | None = None
        self._started: Started | None = None

    def prepare(self, stack: ExitStack, cluster: Cluster | None) -> None:
        """Open the store and read the model and the logs."""
        self._guarded(lambda: self._prepare(stack, cluster))

    def search(self, more_builds: int) -> None:
        """Search with so many builds more; what was measured before is in the store."""
        self._guarded(lambda: self._search(more_builds))

    def decide(self) -> None:
        """Decide about the deployed set, confirm, and put the document in place."""
        if self.found is not None:
            self._guarded(self._decide)

    def _prepare(self, stack: ExitStack, cluster: Cluster | None) -> None:
        from tuner.commands.prepared import prepared
        from tuner.commands.publishing import Started
        from tuner.measurements.store import open_store
        from tuner.onnx_file import read_onnx

        if self.given["model"] is None and self.given["measurements"] is None:
            raise TunerError("nothing to judge by: give the job a model or measurements")
        store = stack.enter_context(open_store(self.given["store"]))
        model = read_onnx(self.given["model"]) if self.given["model"] else None
        self._started = Started.now(store)
        self._prepared = prepared(self.given, model, store, cluster)

    def _search(self, more_builds: int) -> None:
        from tuner.measurements.history import spent_since
        from tuner.recommendation.fleet import standing

        # Both are there once the job was prepared.
        assert self._prepared is not None
        assert self._started is not None
        self.builds += more_builds
        found, _ = self._prepared.searched(self._settings(), confirms=False)
        self.found = found
        spent = spent_since(self._prepared.store, self._started.before)
        self.standing = standing(self.name, self.given["gpu_kind"] or "GPU", found, spent)

    def _decide(self) -> None:
        from tuner.commands.publishing import publish

        # Both are there once the job was prepared.
        assert self._prepared is not None
        assert self._started is not None
        self.found = self._prepared.decided(self._settings())
        publish(self.given, self.found, self._started)

    def _settings(self) -> Any:
        assert self._prepared is not None  # the job was prepared
        settings = options.recommend_settings({**self.given, "builds": self.builds})
        return self._prepared.several_at_once(settings)

    def _guarded(self, work: Callable[[], None]) -> None:
        if self.problem is not None:
            return
        try:
            work()
        except TunerError as error:
            self.problem, self.found, self.standing = str(error), None, None


def run_fleet(fleet: Fleet, cluster: Cluster | None, say: Say) -> list[FleetJob]:
    """Every job searched as far as the budget goes, decided and written; one at a time without a cluster."""
    jobs = [FleetJob(name, given) for name, given in fleet.jobs.items()]
    with ExitStack() as stack:
        for job in jobs:
            say(f"{job.name}: reading")
            job.prepare(stack, cluster)
        for job in jobs:
            if _left_s(fleet, jobs) > 0:
                say(f"{job.name}: the first {fleet.first_builds} builds")
                job.search(fleet.first_builds)
        while _round(fleet, jobs, cluster, say):
            pass
        for job in jobs:
            say(f"{job.name}: {job.problem or 'deciding'}")
            job.decide()
    return jobs


def spent_s(jobs: Iterable[FleetJob]) -> float:
    """GPU seconds that the jobs have taken so far."""
    return sum(job.standing.spent_s for job in jobs if job.standing is not None)


def _left_s(fleet: Fleet, jobs: Iterable[FleetJob]) -> float:
    return fleet.gpu_hours * 3600 - spent_s(jobs)


def _round(fleet: Fleet, jobs: list[FleetJob], cluster: Cluster | None, say: Say) -> bool:
    """More builds for the jobs that are expected to gain most; False where nothing more is to be had.

    Kinds of GPU work side by side on a cluster, each for its best job; without one the best job of all works.
    """
    from tuner.recommendation.fleet import builds_within, next_jobs, shares_of

    by_name = {job.name: job for job in jobs if job.standing is not None}
    standings = {name: job.standing for name, job in by_name.items() if job.standing is not None}
    names = next_jobs(list(standings.values()))[: None if cluster is not None else 1]
    shares = shares_of(_left_s(fleet, jobs), names, standings)
    more = {name: builds_within(shares[name], standings[name], fleet.more_builds) for name in names}
    chosen = [name for name in names if more[name] > 0]
    for name in chosen:
        saving = standings[name].expected_s / 3600
        say(f"{name}: {more[name]} more builds, which may save {saving:.3g} GPU hours a day")
    with ThreadPoolExecutor(max(1, len(chosen))) as pool:
        list(pool.map(lambda name: by_name[name].search(more[name]), chosen))
    return bool(chosen)
