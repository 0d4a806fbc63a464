"""Recorded measurements as a source of curves: the same answers as the GPU gave, without one."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.engines.spec import Environment
from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.measurements.flat_parquet import RecordedEngine
from tuner.measurements.measurement import Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile


class RecordedSource:
    """Curves of single-profile engines; several builds of one profile count by their median.

    Engines of several profiles are left out: they confirm a set, but a curve is that of a profile alone.
    """

    origin = "recorded"

    def __init__(self, model: Model, engines: Iterable[RecordedEngine]) -> None:
        alone = [e for e in engines if e.engine.is_built and len(e.engine.spec.profiles) == 1]
        if not alone:
            raise TunerError(f"no engine of {model.name} with a single profile was recorded")
        environments = {engine.engine.spec.environment for engine in alone}
        if len(environments) > 1:
            gpus = sorted({f"{e.gpu} with TensorRT {e.tensorrt}" for e in environments})
            raise TunerError(
                f"measurements come from {len(environments)} environments ({', '.join(gpus)}); "
                "latencies of different ones are never compared, give a file of one"
            )
        self.model = model
        self.environment: Environment = environments.pop()
        self._by_profile: dict[OptimizationProfile, list[RecordedEngine]] = {}
        for engine in alone:
            self._by_profile.setdefault(engine.engine.spec.profiles.profiles[0], []).append(engine)
        self._measured = {p: _measured(p, builds) for p, builds in self._by_profile.items()}

    @property
    def measured_on(self) -> str | None:
        """The last date of the recorded builds, ISO."""
        dates = [e.engine.measured_on for builds in self._by_profile.values() for e in builds]
        return max((d for d in dates if d), default=None)

    @property
    def engines(self) -> list[RecordedEngine]:
        return [engine for builds in self._by_profile.values() for engine in builds]

    def candidates(self) -> Sequence[OptimizationProfile]:
        return list(self._measured)

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64]
    ) -> MeasuredProfile | FailedProfile:
        """The curve of the recorded profile with the same opt whose range contains this one's.

        Of several, the one with the widest range: all candidates are then compared at like ranges, and no
        gain rests on one that was recorded with a narrow range (fact 4 of the measurements).
        """
        fitting = [p for p in self._measured if p.opt == profile.opt and p.contains(profile)]
        if not fitting:
            reason = f"no recorded engine has opt {profile.opt} and contains the range of {profile}"
            return FailedProfile(profile=profile, kind="not_recorded", reason=reason)
        return self._measured[max(fitting, key=_width)]


def _width(profile: OptimizationProfile) -> tuple[float, tuple[int, ...]]:
    pairs = zip(profile.min.values, profile.max.values, strict=True)
    return sum(np.log((high + 1) / (low + 1)) for low, high in pairs), profile.max.values


def _measured(profile: OptimizationProfile, builds: Sequence[RecordedEngine]) -> MeasuredProfile:
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
    memory = _median(e.device_memory_bytes for e in engines)
    plan = _median(e.plan_bytes for e in engines)
    return MeasuredProfile(
        profile=profile,
        curves=curves,
        engine_keys=tuple(f"{e.spec.key}.{e.repeat}" for e in engines),
        build_s=_median(e.build_s for e in engines),
        plan_bytes=None if plan is None else int(plan),
        device_memory_bytes=None if memory is None else int(memory),
    )


def _median(values: Iterable[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
