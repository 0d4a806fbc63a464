"""The bench: builds an engine once, times what is missing, and stores every outcome at once.

It knows specs, engines and sizes, but nothing of searching: asked twice for the same, it reads the store.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.axes import Size
from tuner.engines.builder import Builder, BuilderOptions, build_job
from tuner.engines.memory_need import refuse_impossible
from tuner.engines.plan_store import PlanStore
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import BuildFailed, EngineError, RunFailed
from tuner.measurements.child_measurer import ChildMeasurer
from tuner.measurements.flat_parquet import RecordedEngine
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measure_wire import MeasureJob
from tuner.measurements.measurement import BuiltEngine, Measurement
from tuner.measurements.measuring import SwitchCosts, Visiting
from tuner.measurements.outputs import OutputError, wrong_outputs
from tuner.measurements.records import Records
from tuner.measurements.runner import ContextsTiming, SizeTask
from tuner.model import Model
from tuner.profiles.profile import ProfileSet

_LOG = logging.getLogger(__name__)

Place = tuple[int, Size]
"""A profile index and a size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildChoices:
    """What is the same for every engine of a run."""

    precision: str = "fp16"
    options: BuilderOptions = dataclasses.field(default_factory=BuilderOptions)
    use_timing_cache: bool = False
    verify_outputs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Who builds and who measures, where plans lie, and the machine they are for.

    `gpu_bytes` is the GPU's memory, None where there is no GPU: then nothing can be measured.
    """

    builder: Builder
    measurer: ChildMeasurer
    plans: PlanStore
    environment: Environment
    gpu_bytes: int | None
    device_index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Builds and measures engines of one model, each at most once."""

    model: Model
    model_path: Path
    store: Records
    tools: Tools
    fill: InputFill
    choices: BuildChoices = dataclasses.field(default_factory=BuildChoices)
    visiting: Visiting = dataclasses.field(default_factory=Visiting)

    def spec(self, profiles: ProfileSet) -> EngineSpec:
        return EngineSpec(
            model_hash=self.model.content_hash or "",
            profiles=profiles,
            precision=self.choices.precision,
            builder_options=self.choices.options.text,
            environment=self.tools.environment,
        )

    def builds(self, spec: EngineSpec) -> list[BuiltEngine]:
        """Every build of a spec that the store knows, failures included, by repeat."""
        known = [e for e in self.store.engines(self.model.content_hash) if e.spec.key == spec.key]
        return sorted(known, key=lambda engine: engine.repeat)

    def failures(self) -> list[BuiltEngine]:
        """Single-profile builds that failed under this bench's choices, on this machine."""
        return [e for e in self.own_engines() if not e.is_built and len(e.spec.profiles) == 1]

    def own_engines(self) -> list[BuiltEngine]:
        """Every build of this model under this bench's choices, on this machine."""
        engines = self.store.engines(self.model.content_hash)
        return [engine for engine in engines if engine.spec == self.spec(engine.spec.profiles)]

    def recorded(self, engine: BuiltEngine) -> RecordedEngine:
        return RecordedEngine(engine, tuple(self.store.measurements(engine.spec.key, engine.repeat)))

    def built(self, spec: EngineSpec) -> BuiltEngine:
        """The newest build of a spec that the store knows, which is built now if there is none."""
        known = self.builds(spec)
        return known[-1] if known else self.build(spec, 0)

    def build(self, spec: EngineSpec, repeat: int) -> BuiltEngine:
        """Build a spec and store the outcome, which is a failure with its reason where there is no plan."""
        plan_path = self.tools.plans.path(spec.key, repeat)
        job = build_job(
            spec, self.model, self.model_path, plan_path, needs_gpu=self.tools.gpu_bytes is not None
        )
        if self.choices.use_timing_cache:
            cache = self.tools.plans.timing_cache(self.tools.environment)
            job = dataclasses.replace(job, timing_cache=str(cache))
        engine = BuiltEngine(
            spec=spec,
            name=_engine_name(spec.profiles, repeat),
            repeat=repeat,
            measured_on=datetime.datetime.now(datetime.UTC).date().isoformat(),
        )
        try:
            refuse_impossible(self.model, spec.profiles, self.tools.gpu_bytes)
            built = self.tools.builder.build(job)
        except EngineError as error:
            engine = dataclasses.replace(engine, outcome=error.kind, reason=str(error))
        else:
            engine = dataclasses.replace(
                engine,
                build_s=built.build_s,
                plan_bytes=built.plan_bytes,
                device_memory_bytes=built.device_memory_bytes,
                plan_digest=built.plan_digest,
                workspace_bytes=built.workspace_bytes,
                timing_cache=built.timing_cache,
            )
            self.tools.plans.trim(plan_path)
            if built.timing_cache.startswith("refused"):
                _LOG.warning("timing cache %s was not used: %s", job.timing_cache, built.timing_cache)
        self.store.add_engine(self.model, engine)
        return engine

    def has_plan(self, engine: BuiltEngine) -> bool:
        return self.tools.plans.holds(engine.spec.key, engine.repeat, engine.plan_digest)

    def missing(self, engine: BuiltEngine, places: Sequence[Place]) -> list[Place]:
        """Those of the places that the store has no measurement of, or one that others disturbed."""
        key, repeat = engine.spec.key, engine.repeat
        stored = self.store.measurements(key, repeat)
        usable = [m for m in stored if m.input_fill == self.fill.text and not m.is_contended]
        known = {(m.profile_index, m.size) for m in usable}
        return [place for place in dict.fromkeys(places) if place not in known]

    def time(self, engine: BuiltEngine, places: Sequence[Place], heaviest: Sequence[Place] = ()) -> None:
        """Time the places that are missing, storing each at once, and then what changes cost.

        Where outputs are verified, it is at the min, opt and max of each profile and at the heaviest places.

        Raises RunFailed where the child fails; what it had measured until then stays in the store.
        """
        missing = self.missing(engine, places)
        if not missing:
            return
        self._check_plan(engine)
        errors: list[OutputError] = []
        pending: list[Measurement] = []
        for answer in self.tools.measurer.measure(self._job(engine, missing, heaviest)):
            if isinstance(answer, OutputError):
                errors.append(answer)
            elif isinstance(answer, Measurement):
                self._check_outputs(errors)
                pending = self._store_complete(engine, [*pending, answer])
            elif isinstance(answer, SwitchCosts):
                self.store.add_switch_costs(engine.spec.key, engine.repeat, answer)
        self._check_outputs(errors)
        self.store.add_measurements(engine.spec.key, engine.repeat, pending)

    def swept(self, profiles: ProfileSet, places: Sequence[Place]) -> BuiltEngine:
        """The newest build of a set, timed at these places; EngineError where either fails."""
        engine = self.built(self.spec(profiles))
        if not engine.is_built:
            raise BuildFailed(engine.reason or "not known", engine.outcome)
        self.time(engine, places)
        return self.builds(engine.spec)[-1]  # with what changes were found to cost

    def time_contexts(self, engine: BuiltEngine, size: Size, counts: Sequence[int]) -> list[ContextsTiming]:
        """One size in several execution contexts at once; the engine has that many equal profiles."""
        self._check_plan(engine)
        job = dataclasses.replace(self._job(engine, [(0, size)]), contexts=tuple(counts), verify_model=None)
        return [a for a in self.tools.measurer.measure(job) if isinstance(a, ContextsTiming)]

    def _check_plan(self, engine: BuiltEngine) -> None:
        if not self.has_plan(engine):
            raise RunFailed(
                f"engine {engine.name}: its plan is gone from {self.tools.plans.folder} or is not the one "
                "that was built; name another folder with --engine-folder and another --store",
                "plan",
            )

    def _store_complete(self, engine: BuiltEngine, pending: list[Measurement]) -> list[Measurement]:
        # Both modes of a size go in together, so that a size is either known or missing.
        last = pending[-1]
        complete = [m for m in pending if (m.profile_index, m.size) != (last.profile_index, last.size)]
        if complete:
            self.store.add_measurements(engine.spec.key, engine.repeat, complete)
        return pending[len(complete) :]

    def _check_outputs(self, errors: Sequence[OutputError]) -> None:
        wrong = wrong_outputs(list(errors), self.choices.precision)
        if wrong is not None:
            raise RunFailed(wrong, "wrong_result")

    def _job(
        self, engine: BuiltEngine, places: Sequence[Place], heaviest: Sequence[Place] = ()
    ) -> MeasureJob:
        job = MeasureJob(
            flavour=self.tools.environment.flavour,
            plan_path=str(self.tools.plans.path(engine.spec.key, engine.repeat)),
            plan_digest=str(engine.plan_digest),
            fill=self.fill,
            tasks=self._tasks(places),
            visiting=self.visiting,
            device_index=self.tools.device_index,
        )
        if not self.choices.verify_outputs:
            return job
        bounds = [(i, size) for i, p in enumerate(engine.spec.profiles) for size in (p.min, p.opt, p.max)]
        verified = tuple(dict.fromkeys([*bounds, *heaviest]))
        return dataclasses.replace(job, verify_model=str(self.model_path), verify_tasks=self._tasks(verified))

    def _tasks(self, places: Sequence[Place]) -> tuple[SizeTask, ...]:
        return tuple(SizeTask.of(self.model, size, index) for index, size in places)


def _engine_name(profiles: ProfileSet, repeat: int) -> str:
    """The opts, as recorded files name engines, with the ranges; builds after the first are marked."""
    name = " + ".join(str(profile) for profile in profiles)
    return name if repeat == 0 else f"{name} again {repeat}"
