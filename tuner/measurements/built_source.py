"""A source of curves that builds and times engines, within a budget, and reads the store first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import BuildFailed, EngineError
from tuner.measurements.bench import Bench
from tuner.measurements.cache_saving import cache_saving
from tuner.measurements.flat_parquet import RecordedEngine
from tuner.measurements.grid import LARGEST_ERROR, choose_grid, interpolation_error, refined
from tuner.measurements.measurement import BuiltEngine, Mode
from tuner.measurements.recorded import measured_profile, size_change_ms, switch_ms, workspace_needed
from tuner.measurements.source import PRUNED, FailedProfile, MeasuredProfile, SourceFacts, Stop
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.traffic.histogram import SizeHistogram

FIRST_PART = 3
"""One in so many sizes, the heaviest, is timed before it is asked whether the rest is needed."""
VERIFIED_SIZES = 2
"""Heaviest sizes of the traffic at which outputs are verified, beside min, opt and max."""
REFINEMENTS = 2
"""How often sizes are added to a curve whose interpolation error is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildBudget:
    """Most profiles to build or look up, and wall seconds; None for no limit."""

    builds: int
    seconds: float | None = None


class BuiltSource:
    """Curves from engines that this run builds, or that the store has from runs before.

    `clock` counts seconds. A profile that cannot be built any more under the budget is a failure of kind
    `budget`, which a later run with more budget takes up again.
    """

    def __init__(
        self,
        bench: Bench,
        histogram: SizeHistogram,
        budget: BuildBudget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bench = bench
        self._histogram = histogram
        self._budget = budget
        self._clock = clock
        self._started = clock()
        self._used: dict[str, RecordedEngine] = {}
        # A finished study takes its failures over without asking again: they count all the same.
        self._spent = {e.spec.key for e in bench.failures()}
        self._known: dict[OptimizationProfile, MeasuredProfile | FailedProfile] = {}
        self._interpolation_errors: dict[OptimizationProfile, float] = {}
        self._confirmed: list[BuiltEngine] = []

    @property
    def model(self) -> Model:
        return self._bench.model

    @property
    def facts(self) -> SourceFacts:
        """What the curves given so far rest on."""
        engines = [used.engine for used in self._used.values()]
        own = self._bench.own_engines()
        dates = [engine.measured_on for engine in engines if engine.measured_on]
        return SourceFacts(
            origin="measured",
            environment=self._bench.tools.environment,
            precision=self._bench.choices.precision,
            builder_options=self._bench.choices.options.text,
            measured_on=max(dates, default=None),
            build_count=len(engines),
            measurement_count=sum(len(used.measurements) for used in self._used.values()),
            interpolation_error=max(self._interpolation_errors.values(), default=None),
            switch_ms=switch_ms(own),
            size_change_ms=size_change_ms(own),
            workspace_bytes=workspace_needed([*engines, *self._confirmed]),
            cache_saving=cache_saving(engines),
        )

    def candidates(self) -> Sequence[OptimizationProfile] | None:
        """None: any profile can be built."""
        return None

    def knows(self, profile: OptimizationProfile) -> bool:
        """Whether the store has a build of the profile, or a wider one was measured."""
        is_covered = any(p.opt == profile.opt and p.contains(profile) for p in self._known)
        return is_covered or bool(self._bench.builds(self._bench.spec(ProfileSet((profile,)))))

    def start(self, profile: OptimizationProfile) -> None:
        """Nothing: here one profile is built at a time, when it is asked for."""

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        """The profile's curve on the grid of the traffic, from the store where it is there.

        A profile takes the curve of one with the same opt whose range contains its own: the range matters
        little, and a build costs much.
        """
        wider = [p for p in self._known if p.opt == profile.opt and p.contains(profile)]
        if profile not in self._known and wider:
            return self._known[wider[0]]
        if profile not in self._known:
            outcome = self._measure(profile, stop)
            if isinstance(outcome, FailedProfile) and outcome.kind in ("budget", PRUNED):
                return outcome  # not final: more budget or another question may have it timed
            self._known[profile] = outcome
        return self._known[profile]

    def confirm(self, profiles: ProfileSet, count: int = 1) -> list[MeasuredProfile]:
        """The set built as one engine `count` times, outside of the budget, and each profile timed in each.

        Raises EngineError where a build or a timing fails.
        """
        bench = self._bench
        spec = bench.spec(profiles)
        known = [engine for engine in bench.builds(spec) if engine.is_built]
        engines = known[-count:]
        first = max((engine.repeat for engine in bench.builds(spec)), default=-1) + 1
        engines += [bench.build(spec, first + i) for i in range(count - len(engines))]
        for engine in engines:
            if not engine.is_built:
                raise BuildFailed(engine.reason or "not known", engine.outcome)
            # All in one go: so what a change of profile costs is seen too.
            self._fill_in(engine, [choose_grid(self._histogram, profile).sizes for profile in profiles])
        self._confirmed += engines
        recorded = [bench.recorded(engine) for engine in engines]
        return [
            measured_profile(
                profile,
                [
                    RecordedEngine(r.engine, tuple(m for m in r.measurements if m.profile_index == index))
                    for r in recorded
                ],
            )
            for index, profile in enumerate(profiles)
        ]

    def _measure(self, profile: OptimizationProfile, stop: Stop | None) -> MeasuredProfile | FailedProfile:
        bench = self._bench
        spec = bench.spec(ProfileSet((profile,)))
        engines = bench.builds(spec)
        if not engines:
            spent = self._what_is_spent()
            if spent is not None:
                return FailedProfile(profile=profile, kind="budget", reason=spent)
            engines = [bench.build(spec, 0)]
        self._spent.add(spec.key)
        built = [engine for engine in engines if engine.is_built]
        if not built:
            last = engines[-1]
            return FailedProfile(profile=profile, kind=last.outcome, reason=last.reason or "not known")
        try:
            built = list(self._openable(profile, built))
            reason = self._why_stopped(profile, built, stop) if stop is not None else None
            if reason is not None:
                return FailedProfile(profile=profile, kind=PRUNED, reason=reason)
            return self._timed(profile, built)
        except EngineError as error:
            return FailedProfile(profile=profile, kind=error.kind, reason=str(error))

    def _what_is_spent(self) -> str | None:
        if len(self._spent) >= self._budget.builds:
            return f"not built: the {self._budget.builds} builds of the budget are spent (--builds)"
        seconds = self._budget.seconds
        if seconds is not None and self._clock() - self._started > seconds:
            return f"not built: the {seconds / 3600:g} hours of the budget are spent (--max-hours)"
        return None

    def _why_stopped(
        self, profile: OptimizationProfile, built: Sequence[BuiltEngine], stop: Stop
    ) -> str | None:
        """Time the sizes that take most GPU time first, and ask whether the rest is needed."""
        sizes = choose_grid(self._histogram, profile).sizes
        counts = {
            tuple(r): int(c)
            for r, c in zip(self._histogram.sizes.tolist(), self._histogram.counts, strict=True)
        }
        weights = [
            -counts.get(tuple(row), 0) * float(np.prod(row, dtype=float)) ** 0.5 for row in sizes.tolist()
        ]
        heaviest = np.argsort(weights, kind="stable")[: max(2, len(sizes) // FIRST_PART)]
        self._fill_in(built[-1], [sizes[np.sort(heaviest)]])
        recorded = [self._bench.recorded(engine) for engine in built]
        for one in recorded:  # a build counts, whatever comes of it
            self._used[f"{one.engine.spec.key}.{one.engine.repeat}"] = one
        return stop(measured_profile(profile, recorded).curves[Mode.ENQUEUE])

    def _timed(self, profile: OptimizationProfile, built: Sequence[BuiltEngine]) -> MeasuredProfile:
        grid = choose_grid(self._histogram, profile)
        newest = built[-1]
        for refinement in range(REFINEMENTS + 1):
            self._fill_in(newest, [grid.sizes])
            recorded = [self._bench.recorded(engine) for engine in built]
            measured = measured_profile(profile, recorded)
            error = interpolation_error(measured.curves[Mode.ENQUEUE], grid, self._histogram)
            if error is None or error <= LARGEST_ERROR or refinement == REFINEMENTS:
                break
            grid = refined(grid, self._histogram, profile, len(grid.sizes) // 4)
        if error is not None:
            self._interpolation_errors[profile] = error
        for one in recorded:
            self._used[f"{one.engine.spec.key}.{one.engine.repeat}"] = one
        return measured

    def _openable(self, profile: OptimizationProfile, built: list[BuiltEngine]) -> list[BuiltEngine]:
        """The builds, with one more where sizes are missing and the plan of the last was evicted."""
        last, axes = built[-1], self._bench.model.axes
        sizes = choose_grid(self._histogram, profile).sizes
        places = [(0, Size(axes, tuple(row))) for row in sizes.tolist()]
        if not self._bench.missing(last, places) or self._bench.has_plan(last):
            return built
        again = self._bench.build(last.spec, last.repeat + 1)
        if not again.is_built:
            raise BuildFailed(again.reason or "not known", again.outcome)
        return [*built, again]

    def _fill_in(self, engine: BuiltEngine, grids: Sequence[NDArray[np.int64]]) -> None:
        """Time what is missing of each profile's grid, in one open engine."""
        axes = self._bench.model.axes
        places, heaviest = [], []
        for index, (profile, grid) in enumerate(zip(engine.spec.profiles, grids, strict=True)):
            inside = self._histogram.where(profile.covers_rows(self._histogram.sizes))
            heaviest += [(index, inside.size(row)) for row in inside.heaviest(VERIFIED_SIZES)]
            places += [(index, Size(axes, tuple(row))) for row in grid.tolist()]
        self._bench.time(engine, places, heaviest)
