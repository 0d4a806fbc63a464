"""The space of a search: which opts may be tried, over which range."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.axes import Size
from tuner.errors import NothingFeasible
from tuner.profiles.profile import OptimizationProfile
from tuner.traffic.histogram import SizeHistogram

LATTICE_PERCENTILES = (0, 10, 25, 50, 75, 90, 99, 100)


@dataclass(frozen=True, slots=True)
class Space:
    """Profiles that a search may try: one for each opt, each over the whole range to serve.

    Opts are in a fixed order. A range is widened by its opt where that lies outside of the traffic.
    """

    smallest: Size
    largest: Size
    opts: tuple[Size, ...]

    def profile(self, opt: Size) -> OptimizationProfile:
        axes = self.smallest.axes
        low = tuple(min(a, b) for a, b in zip(self.smallest.values, opt.values, strict=True))
        high = tuple(max(a, b) for a, b in zip(self.largest.values, opt.values, strict=True))
        return OptimizationProfile(Size(axes, low), opt, Size(axes, high))

    def nearest(self, wanted: Sequence[float], among: Sequence[Size]) -> Size:
        """The opt nearest by log distance; ties keep the space's order."""
        rows = np.log(np.maximum([opt.values for opt in among], 0.5))
        distance = np.abs(rows - np.log(np.maximum(wanted, 0.5))).sum(axis=1)
        return among[int(distance.argmin())]


def space_of_traffic(histogram: SizeHistogram, smallest: Size, largest: Size) -> Space:
    """The space where any profile can be built: opts on a lattice over the traffic.

    The lattice takes quantiles and powers of two of each axis; each of its points moves to the nearest
    size that occurs, so that axes which only fit together in some ways stay feasible.
    """
    ticks = [_ticks(histogram, axis) for axis in histogram.axes]
    points = np.array(list(itertools.product(*ticks)), dtype=np.float64)
    occurring = np.log(np.maximum(histogram.sizes, 0.5))
    nearest = [
        int(np.abs(occurring - np.log(np.maximum(point, 0.5))).sum(axis=1).argmin()) for point in points
    ]
    opts = sorted({histogram.size(row) for row in nearest}, key=lambda opt: opt.values)
    return Space(smallest, largest, tuple(opts))


def _ticks(histogram: SizeHistogram, axis: str) -> list[int]:
    quantiles = histogram.percentiles(axis, LATTICE_PERCENTILES)
    powers = [2**i for i in range(32) if quantiles[0] <= 2**i <= quantiles[-1]]
    return sorted({*quantiles, *powers})


def space_of_candidates(candidates: Sequence[OptimizationProfile], smallest: Size, largest: Size) -> Space:
    """The space over recorded profiles: the opts of those that contain the whole range to serve."""
    whole = [p for p in candidates if p.covers(smallest) and p.covers(largest)]
    if not whole:
        raise NothingFeasible(
            f"no measured profile covers the range {smallest} to {largest} that the traffic needs; limit it "
            "with --cap, or measure a profile over that range"
        )
    opts = sorted({p.opt for p in whole}, key=lambda opt: opt.values)
    return Space(smallest, largest, tuple(opts))
