"""Recorded measurements as a source of curves: the same answers as the GPU gave, without one."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import TunerError
from tuner.measurements.cache_saving import cache_saving
from tuner.measurements.curve import Curve
from tuner.measurements.flat_parquet import RecordedEngine
from tuner.measurements.measurement import BuiltEngine, Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile, SourceFacts, Stop
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile


class RecordedSource:
    """Curves of single-profile engines; several builds of one profile count by their median.

    Engines of several profiles are left out: they confirm a set, but a curve is that of a profile alone.
    """

    def __init__(self, model: Model, engines: Iterable[RecordedEngine]) -> None:
        built = [e for e in engines if e.engine.is_built]
        alone = [e for e in built if len(e.engine.spec.profiles) == 1]
        if not alone:
            raise TunerError(f"no engine of {model.name} with a single profile was recorded")
        self.model = model
        self.facts = _facts(alone, [e.engine for e in built])
        by_profile: dict[OptimizationProfile, list[RecordedEngine]] = {}
        for engine in alone:
            by_profile.setdefault(engine.engine.spec.profiles.profiles[0], []).append(engine)
        self._measured = {p: measured_profile(p, builds) for p, builds in by_profile.items()}

    def candidates(self) -> Sequence[OptimizationProfile]:
        return list(self._measured)

    def start(self, profile: OptimizationProfile) -> None:
        """Nothing: all profiles are there."""

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        """The curve of the recorded profile with the same opt whose range contains this one's.

        Nothing has to be timed, so `stop` is never asked.

        Of several, the one with the widest range: all candidates are then compared at like ranges, and no
        gain rests on one that was recorded with a narrow range (fact 4 of the measurements).
        """
        fitting = [p for p in self._measured if p.opt == profile.opt and p.contains(profile)]
        if not fitting:
            reason = f"no recorded engine has opt {profile.opt} and contains the range of {profile}"
            return FailedProfile(profile=profile, kind="not_recorded", reason=reason)
        return self._measured[max(fitting, key=_width)]


def _facts(engines: Sequence[RecordedEngine], built: Sequence[BuiltEngine]) -> SourceFacts:
    specs = [recorded.engine.spec for recorded in engines]
    origins = {_making(spec) for spec in specs}
    if len(origins) > 1:
        seen = sorted(f"{e.gpu}, TensorRT {e.tensorrt}, {p}, {options}" for e, p, options in origins)
        raise TunerError(
            f"measurements come from {len(origins)} environments ({'; '.join(seen)}); latencies of "
            "different ones are never compared, give a file of one"
        )
    alike = [engine for engine in built if _making(engine.spec) in origins]
    return SourceFacts(
        origin="recorded",
        environment=specs[0].environment,
        precision=specs[0].precision,
        builder_options=specs[0].builder_options,
        measured_on=max((e.engine.measured_on for e in engines if e.engine.measured_on), default=None),
        build_count=len(engines),
        measurement_count=sum(len(e.measurements) for e in engines),
        switch_ms=switch_ms(alike),
        size_change_ms=size_change_ms(alike),
        workspace_bytes=workspace_needed(built),
        cache_saving=cache_saving(e.engine for e in engines),
    )


def _making(spec: EngineSpec) -> tuple[Environment, str, str]:
    """What engines have to share for their latencies to be compared."""
    return spec.environment, spec.precision, spec.builder_options


def workspace_needed(engines: Iterable[BuiltEngine]) -> int | None:
    """The largest workspace limit that any of the builds needed; None where TensorRT had its own."""
    return max((e.workspace_bytes for e in engines if e.workspace_bytes is not None), default=None)


def switch_ms(engines: Sequence[BuiltEngine]) -> float | None:
    """What changing the profile costs in engines of one making; None where none knows.

    What it costs beyond a change of size in the same engine, on top of what that costs in all engines: one
    engine's own sizes and noise are in both of its figures. The median of engines; where noise made a change
    look like a gain it costs nothing.
    """
    known = [e for e in engines if e.profile_change_ms is not None]
    pairs = [(e.profile_change_ms, e.size_change_ms) for e in known]
    beyond = _cost(profile - size for profile, size in pairs if profile is not None and size is not None)
    size_ms = size_change_ms(engines)
    if beyond is not None and size_ms is not None:
        return size_ms + beyond
    return _cost(profile for profile, _ in pairs)


def size_change_ms(engines: Iterable[BuiltEngine]) -> float | None:
    """What changing the size inside a profile costs, likewise."""
    return _cost(engine.size_change_ms for engine in engines)


def _cost(costs_ms: Iterable[float | None]) -> float | None:
    found = _median(costs_ms)
    return None if found is None else max(0.0, found)


def _width(profile: OptimizationProfile) -> tuple[float, tuple[int, ...]]:
    pairs = zip(profile.min.values, profile.max.values, strict=True)
    return sum(np.log((high + 1) / (low + 1)) for low, high in pairs), profile.max.values


def measured_profile(profile: OptimizationProfile, builds: Sequence[RecordedEngine]) -> MeasuredProfile:
    """The curves of a profile over all of its builds: at each size their median."""
    curves = {}
    for mode in Mode:
        times: dict[Size, list[float]] = {}
        for build in builds:
            for m in build.measurements:
                if m.mode == mode:
                    times.setdefault(m.size, []).append(m.summary.p50_ms)
        if times:
            sizes = sorted(times, key=lambda size: size.values)
            curves[mode] = Curve(
                profile,
                np.array([size.values for size in sizes], dtype=np.int64),
                np.array([statistics.median(times[size]) for size in sizes]),
                len(builds),
            )
    engines = [build.engine for build in builds]
    disturbed = [m.is_contended for build in builds for m in build.measurements]
    memory = _median(e.device_memory_bytes for e in engines)
    plan = _median(e.plan_bytes for e in engines)
    return MeasuredProfile(
        profile=profile,
        curves=curves,
        engine_keys=tuple(f"{e.spec.key}.{e.repeat}" for e in engines),
        build_s=_median(e.build_s for e in engines),
        plan_bytes=None if plan is None else int(plan),
        device_memory_bytes=None if memory is None else int(memory),
        contended_share=sum(disturbed) / len(disturbed) if disturbed else 0.0,
    )


def _median(values: Iterable[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
