"""Rules: recipes that turn traffic into profiles without measuring, as other tools do it.

They are the baselines of every run. Each profile has the traffic's whole range as min and max. An opt
that is taken axis by axis moves to the nearest size that really occurred, since sizes that never occur
together need not be feasible; only `max` and `midpoint` keep their corner and centre, as their models do,
with relations between axes kept (`tuner.profiles.relations`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tuner.axes import Size
from tuner.errors import TunerError, nearest_name
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.relations import corners, kept, relations_of
from tuner.traffic.histogram import SizeHistogram

Rule = Callable[[SizeHistogram], Size]


def opt_max(histogram: SizeHistogram) -> Size:
    """opt = max, as ONNX Runtime, TF-TRT and AITune set it."""
    return corners(histogram)[1]


def opt_median(histogram: SizeHistogram) -> Size:
    """The median of each axis, as Model Navigator sets it."""
    return _nearest_occurring(histogram, _percentile(histogram, 50))


def opt_p90(histogram: SizeHistogram) -> Size:
    """P90 of each axis: the usual advice."""
    return _nearest_occurring(histogram, _percentile(histogram, 90))


def opt_mode(histogram: SizeHistogram) -> Size:
    """The most frequent value of each axis, as Paddle collects it."""
    values = []
    for axis in histogram.axes:
        distinct, rows = np.unique(histogram.values(axis), return_inverse=True)
        values.append(int(distinct[np.bincount(rows, weights=histogram.counts).argmax()]))
    return _nearest_occurring(histogram, Size(histogram.axes, tuple(values)))


def opt_midpoint(histogram: SizeHistogram) -> Size:
    """Halfway between min and max on each axis, as Torch-TensorRT sets it."""
    pairs = zip(histogram.smallest.values, histogram.largest.values, strict=True)
    middle = Size(histogram.axes, tuple((low + high) // 2 for low, high in pairs))
    return kept(middle, relations_of(histogram))


SINGLE_PROFILE_RULES: Mapping[str, Rule] = {
    "max": opt_max,
    "median": opt_median,
    "mode": opt_mode,
    "p90": opt_p90,
    "midpoint": opt_midpoint,
}
RULE_NAMES = (*SINGLE_PROFILE_RULES, "static")


def profiles_by_rule(name: str, histogram: SizeHistogram, max_profiles: int) -> ProfileSet:
    """The profile set of a rule.

    `static` has a static profile for each of the most frequent sizes, `max_profiles` of them at most, and
    one over the whole range with opt = max for the rest.
    """
    if name == "static":
        return _static(histogram, max_profiles)
    if name not in SINGLE_PROFILE_RULES:
        raise TunerError(
            f"there is no rule '{name}'{nearest_name(name, RULE_NAMES)}; accepted are {', '.join(RULE_NAMES)}"
        )
    return ProfileSet((_over_range(histogram, SINGLE_PROFILE_RULES[name](histogram)),))


def split_by_rule(name: str, histogram: SizeHistogram, count: int) -> ProfileSet:
    """A profile of the rule for each of `count` parts of the traffic, cut at its widest gaps.

    A gap is that of one axis, as the ratio of neighbouring values that occur. Ranges are those of the
    parts, so that sizes inside a gap are covered by none.
    """
    parts = [histogram]
    while len(parts) < count:
        cuts = [(gap, i, axis, low) for i, part in enumerate(parts) for gap, axis, low in _widest_gap(part)]
        if not cuts:
            raise TunerError(
                f"traffic has {len(histogram)} distinct sizes, too few for {count} profiles; ask for fewer"
            )
        _, i, axis, low = max(cuts)
        below = parts[i].values(axis) <= low
        parts[i : i + 1] = [parts[i].where(below), parts[i].where(~below)]
    return ProfileSet(tuple(profiles_by_rule(name, part, 1).profiles[0] for part in parts))


def _widest_gap(histogram: SizeHistogram) -> list[tuple[float, str, int]]:
    gaps = []
    for axis in histogram.axes:
        values = np.unique(histogram.values(axis))
        if len(values) > 1:
            ratios = (values[1:] + 1) / (values[:-1] + 1)
            gaps.append((float(ratios.max()), axis, int(values[ratios.argmax()])))
    return gaps


def _static(histogram: SizeHistogram, max_profiles: int) -> ProfileSet:
    frequent = [histogram.size(row) for row in histogram.heaviest(max_profiles)]
    static = tuple(OptimizationProfile(size, size, size) for size in frequent)
    return ProfileSet((*static, _over_range(histogram, histogram.largest)))


def _over_range(histogram: SizeHistogram, opt: Size) -> OptimizationProfile:
    low, high = corners(histogram)
    return OptimizationProfile(low, opt, high)


def _percentile(histogram: SizeHistogram, percent: float) -> Size:
    values = tuple(histogram.percentiles(axis, [percent])[0] for axis in histogram.axes)
    return Size(histogram.axes, values)


def _nearest_occurring(histogram: SizeHistogram, wanted: Size) -> Size:
    """The size of the traffic nearest by log distance; of several the most frequent one."""
    logs = logarithms(histogram.sizes)
    distance = np.abs(logs - logarithms(wanted.values)).sum(axis=1)
    nearest = np.flatnonzero(distance <= distance.min() + 1e-12)
    return histogram.size(int(nearest[histogram.counts[nearest].argmax()]))
