"""What runs on a worker for one candidate: it is built and timed in one task, which holds one GPU."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tuner.cluster.connection import load_ray
from tuner.cluster.desk import Report, ReportedRecords
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import EngineError, RunFailed, TunerError
from tuner.measurements.bench import Bench, BuildChoices, Place, Tools
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measuring import Visiting
from tuner.measurements.source import FailedProfile
from tuner.model import Model
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.traffic.histogram import SizeHistogram

MakeTools = Callable[[], Tools]
"""Sets up a worker's own tools; TunerError where TensorRT or the GPU is missing."""
_ANY_NUMBER = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is the same for all candidates of a run; `environment` is what every worker must have.

    Workers read the model from its path themselves. `histogram` is the traffic whose sizes are timed, None
    where a wish names its own.
    """

    model_path: Path
    model_hash: str
    fill: InputFill
    choices: BuildChoices
    visiting: Visiting
    environment: Environment
    make_tools: MakeTools
    histogram: SizeHistogram | None = None

    def source(self, bench: Bench) -> BuiltSource:
        assert self.histogram is not None  # wishes for curves come with traffic
        return BuiltSource(bench, self.histogram, BuildBudget(builds=_ANY_NUMBER))


class Wish(Protocol):
    """What is wanted of one engine."""

    @property
    def profiles(self) -> ProfileSet:
        """The profiles of the engine."""

    def fulfil(self, job: Job, bench: Bench) -> None:
        """Build and time what is missing; EngineError where that fails."""


@dataclass(frozen=True, slots=True)
class ProfileWish:
    """The curve of a profile in an engine of its own."""

    profile: OptimizationProfile

    @property
    def profiles(self) -> ProfileSet:
        return ProfileSet((self.profile,))

    def fulfil(self, job: Job, bench: Bench) -> None:
        assert job.histogram is not None  # as in Job.source
        outcome = job.source(bench).measure(self.profile, job.histogram.sizes)
        if isinstance(outcome, FailedProfile):
            raise RunFailed(outcome.reason, outcome.kind)


@dataclass(frozen=True, slots=True)
class SetWish:
    """A set as one engine, built so many times."""

    profiles: ProfileSet
    count: int

    def fulfil(self, job: Job, bench: Bench) -> None:
        job.source(bench).confirm(self.profiles, self.count)


@dataclass(frozen=True, slots=True)
class PlacesWish:
    """An engine, timed at these sizes under these profiles."""

    profiles: ProfileSet
    places: tuple[Place, ...]

    def fulfil(self, job: Job, bench: Bench) -> None:
        bench.swept(self.profiles, self.places)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a wish was not fulfilled: the outcome in one word, and the reason."""

    kind: str
    reason: str


def look_around(make_tools: MakeTools) -> tuple[Environment | None, int | None, str]:
    """A worker's environment and GPU memory, and what is wrong with it where it can build nothing."""
    try:
        tools = make_tools()
    except TunerError as error:
        return None, None, f"{socket.gethostname()}: {error}"
    return tools.environment, tools.gpu_bytes, ""


def carry_out(job: Job, wish: Wish, spec_key: str, known: Sequence[Report], desk: Any) -> Failure | None:
    """Fulfil a wish from what is known of its engine, reporting each outcome to the desk at once.

    Raises TunerError where this worker must not take part: another environment, or another model.
    """
    ray = load_ray()

    def report(one: Report) -> None:
        ray.get(desk.report.remote(spec_key, one))

    model = _model(job)
    tools = _tools(job)
    earlier = ray.get(desk.begin.remote(spec_key))
    bench = Bench(
        model=model,
        model_path=job.model_path,
        store=ReportedRecords([*known, *earlier], report),
        tools=tools,
        fill=job.fill,
        choices=job.choices,
        visiting=job.visiting,
    )
    try:
        _with_plan(bench, bench.spec(wish.profiles), lambda: wish.fulfil(job, bench))
    except EngineError as error:
        return Failure(error.kind, str(error))
    return None


def _with_plan(bench: Bench, spec: EngineSpec, act: Callable[[], None]) -> None:
    """Act; where sizes are missing of an engine whose plan another node had, build it once more."""
    try:
        act()
    except EngineError as error:
        if error.kind != "plan":
            raise
        bench.build(spec, 1 + max(engine.repeat for engine in bench.builds(spec)))
        act()


def _tools(job: Job) -> Tools:
    tools = job.make_tools()
    if tools.environment != job.environment:
        raise TunerError(
            f"node {socket.gethostname()} has {tools.environment}, but this run measures on "
            f"{job.environment}; engines of one are never compared with those of another: give "
            "such nodes a custom resource, and name the one to use with --gpu-kind"
        )
    return tools


def _model(job: Job) -> Model:
    model = read_onnx(job.model_path) if job.model_path.is_file() else None
    if model is None or model.content_hash != job.model_hash:
        raise TunerError(
            f"node {socket.gethostname()} has no {job.model_path}, or another file of that name; put the "
            "model where all nodes see it under the same path"
        )
    return model
