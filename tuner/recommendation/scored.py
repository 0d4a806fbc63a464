"""The part of the traffic that can be judged: what is covered, within which bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import TunerError, nearest_name
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.relations import corners
from tuner.recommendation.blocks import blocks_of
from tuner.recommendation.evaluate import Judges
from tuner.replay.changes import ChangeCosts, changes_of
from tuner.replay.coverage import Coverage, coverage_of, covered_histogram
from tuner.replay.score import FloatArray, Judge
from tuner.replay.slo import Slo
from tuner.search.search import SearchSettings
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendSettings:
    """What is wanted of a recommendation.

    `profiles` asks for exactly so many, without a tie rule; else `search.max_profiles` is the limit.
    `confirm_builds` is how often the chosen set is built to confirm it.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    profiles: int | None = None
    objective: str = "gpu_time"
    weight: str = "requests"
    uncovered: str = "exclude"
    slos: tuple[Slo, ...] = ()
    pareto: bool = False
    confirm_builds: int = 1
    cap: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredTraffic:
    """Traffic with its judges, its coverage and the bounds that every profile set has to serve.

    The judges charge what is known of changes of size and profile. The blocks are executions of the judges'
    sizes by block of time, shape (blocks, distinct); None where the traffic has no times.
    """

    traffic: Traffic
    judges: Judges
    coverage: Coverage
    bounds: tuple[Size, Size]
    tune_blocks: FloatArray | None = None
    holdout_blocks: FloatArray | None = None

    def charging(self, changes: ChangeCosts) -> ScoredTraffic:
        """The same traffic, judged under other costs of changes."""
        return dataclasses.replace(self, judges=self.judges.charging(changes))

    @property
    def deciding(self) -> tuple[Judge, FloatArray | None]:
        """The traffic that decides between sets, with its blocks: what was held out, where there is any."""
        if self.judges.holdout is None:
            return self.judges.tune, self.tune_blocks
        return self.judges.holdout, self.holdout_blocks


def scored_traffic(traffic: Traffic, source: ProfileSource, settings: RecommendSettings) -> ScoredTraffic:
    """What of the traffic can be judged by the source, charging for changes what the source knows by now.

    Raises NothingFeasible where nothing can.
    """
    reach = _reach(traffic.histogram, source, settings)
    capped = under_cap(traffic.histogram, settings.cap)
    covered = capped & reach.covered(traffic.histogram)
    coverage = coverage_of(traffic, covered, settings.uncovered)
    changes = changes_of(source.facts, settings.search.mode)

    def judge(histogram: SizeHistogram | None) -> Judge | None:
        if histogram is None:
            return None
        inside = under_cap(histogram, settings.cap) & reach.covered(histogram)
        kept = covered_histogram(histogram, inside, settings.uncovered, reach.bounds)
        if len(kept) == 0:
            return None
        wanted = settings.objective, settings.weight, settings.slos
        return Judge(kept, traffic.requests(kept), *wanted, changes)

    tune, holdout = judge(traffic.tune), judge(traffic.holdout)
    if tune is None:  # all that is covered lies in the holdout: judge by what there is
        tune, holdout = holdout, None
    if tune is None:
        raise TunerError("no request of the traffic can be judged")
    kept = [j.histogram for j in (tune, holdout) if j is not None]
    clipped = np.clip(traffic.histogram.sizes, reach.bounds[0].values, reach.bounds[1].values)
    judged_sizes = np.where(covered[:, None], traffic.histogram.sizes, clipped)
    is_judged = covered | (settings.uncovered == "clip")
    return ScoredTraffic(
        traffic,
        Judges(tune, holdout),
        coverage,
        corners(SizeHistogram.merged(kept)),
        blocks_of(traffic, tune, (judged_sizes, is_judged), is_holdout=False),
        None if holdout is None else blocks_of(traffic, holdout, (judged_sizes, is_judged), is_holdout=True),
    )


@dataclass(frozen=True, slots=True)
class _Reach:
    """What a source can time: anything, or the sizes that some recorded curve reaches."""

    bounds: tuple[Size, Size]
    measured: tuple[MeasuredProfile, ...] | None

    def covered(self, histogram: SizeHistogram) -> BoolArray:
        if self.measured is None:
            return np.ones(len(histogram), dtype=bool)
        reached = np.zeros(len(histogram), dtype=bool)
        for one in self.measured:
            for curve in one.curves.values():
                reached |= np.isfinite(curve.latencies(histogram.sizes)[0])
        return reached


def _reach(histogram: SizeHistogram, source: ProfileSource, settings: RecommendSettings) -> _Reach:
    candidates = source.candidates()
    if candidates is None:
        axes = histogram.axes
        limits = [settings.cap.get(axis, histogram.largest[axis]) for axis in axes]
        return _Reach((histogram.smallest, Size(axes, tuple(limits))), None)
    outcomes = [source.measure(candidate, histogram.sizes) for candidate in candidates]
    measured = tuple(outcome for outcome in outcomes if isinstance(outcome, MeasuredProfile))
    sizes = np.concatenate([one.curve(settings.search.mode).sizes for one in measured])
    low, high = sizes.min(axis=0), sizes.max(axis=0)
    for i, axis in enumerate(histogram.axes):
        high[i] = min(high[i], settings.cap.get(axis, high[i]))
    bounds = [Size(histogram.axes, tuple(int(v) for v in corner)) for corner in (low, high)]
    return _Reach((bounds[0], bounds[1]), measured)


def under_cap(histogram: SizeHistogram, cap: Mapping[str, int]) -> BoolArray:
    for axis in cap:
        if axis not in histogram.axes:
            raise TunerError(
                f"--cap names the axis '{axis}'{nearest_name(axis, histogram.axes)}; "
                f"the axes are {list(histogram.axes)}"
            )
    limits = [cap.get(axis, np.iinfo(np.int64).max) for axis in histogram.axes]
    return np.asarray((histogram.sizes <= np.array(limits, dtype=np.int64)).all(axis=1))
