"""The tools of a driver that builds nothing itself: who asks for an engine learns that the cluster must."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tuner.engines.builder import BuildJob
from tuner.engines.child import Limits
from tuner.engines.plan_store import PlanStore
from tuner.engines.spec import Environment
from tuner.measurements.bench import Tools
from tuner.measurements.child_measurer import ChildMeasurer
from tuner.measurements.measure_wire import MeasureJob


class NeedsCluster(Exception):
    """The store does not have what was asked for, so that a worker has to build or time it."""


@dataclass(frozen=True, slots=True)
class BuilderElsewhere:
    """Stands where a builder would."""

    def describe(self, flavour: str) -> str:
        raise NeedsCluster(flavour)

    def build(self, job: BuildJob) -> NoReturn:
        raise NeedsCluster(job.plan_path)


class MeasurerElsewhere(ChildMeasurer):
    """Stands where a measurer would."""

    def measure(self, job: MeasureJob) -> Iterator[NoReturn]:
        raise NeedsCluster(job.plan_path)


class PlansElsewhere(PlanStore):
    """Plans lie on the workers; whether one is still there is seen by the worker that needs it."""

    def holds(self, key: str, repeat: int, digest: str | None) -> bool:
        return True


def tools_elsewhere(environment: Environment, gpu_bytes: int | None) -> Tools:
    nowhere = Path("/nonexistent")
    return Tools(
        builder=BuilderElsewhere(),
        measurer=MeasurerElsewhere(Limits(seconds=0), nowhere),
        plans=PlansElsewhere(nowhere),
        environment=environment,
        gpu_bytes=gpu_bytes,
    )
