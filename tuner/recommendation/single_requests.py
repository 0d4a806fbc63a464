"""Single requests as far as measured curves reach: what is served, what is left out or moved into range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.recommendation.scored import RecommendSettings, under_cap
from tuner.replay.coverage import Coverage, coverage_of
from tuner.traffic.arrivals import Arrivals
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic


def within_reach(
    traffic: Traffic, arrivals: Arrivals, curves: Sequence[Curve], settings: RecommendSettings
) -> tuple[Arrivals, Coverage]:
    """The requests that can be served, and the account of the others.

    With `clip` a request beyond the curves is served at the nearest size they reach. NothingFeasible where
    nothing is covered, TunerError where axes differ.
    """
    axes = curves[0].profile.axes
    if arrivals.axes != axes:
        raise TunerError(
            f"requests have the axes {list(arrivals.axes)}, the measurements {list(axes)}; map the log's "
            "columns with --axis"
        )
    histogram = traffic.histogram
    coverage = coverage_of(traffic, _covered(histogram, curves, settings), settings.uncovered)
    distinct = SizeHistogram(arrivals.axes, arrivals.sizes, np.ones(len(arrivals.sizes), dtype=np.int64))
    # Sizes of arrivals are distinct and sorted, as those of a histogram are: the rows stay in place.
    inside = _covered(distinct, curves, settings)
    if settings.uncovered == "exclude":
        return arrivals.where(inside[arrivals.size_rows]), coverage
    measured = np.concatenate([curve.sizes for curve in curves])
    limits = [
        settings.cap.get(axis, int(high)) for axis, high in zip(axes, measured.max(axis=0), strict=True)
    ]
    clipped = np.clip(arrivals.sizes, measured.min(axis=0), np.minimum(measured.max(axis=0), limits))
    return arrivals.with_sizes(np.where(inside[:, None], arrivals.sizes, clipped)), coverage


def _covered(
    histogram: SizeHistogram, curves: Sequence[Curve], settings: RecommendSettings
) -> NDArray[np.bool_]:
    reached = np.zeros(len(histogram), dtype=bool)
    for curve in curves:
        reached |= np.isfinite(curve.latencies(histogram.sizes)[0])
    return reached & under_cap(histogram, settings.cap)
