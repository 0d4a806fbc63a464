"""Sizes that nothing covers: left out of the score or moved into range, and always stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import NothingFeasible, TunerError
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

UNCOVERED_ACTIONS = ("exclude", "clip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of the traffic lies outside of what was measured or allowed, and what happens to it."""

    action: str
    uncovered_requests: float
    uncovered_work: float
    request_share: float
    work_share: float
    smallest_uncovered: Size | None
    largest_uncovered: Size | None


def covered_histogram(
    histogram: SizeHistogram, covered: NDArray[np.bool_], action: str, bounds: tuple[Size, Size]
) -> SizeHistogram:
    """The histogram to score: uncovered sizes excluded, or each of their axes clipped into `bounds`."""
    if action not in UNCOVERED_ACTIONS:
        raise TunerError(f"--uncovered is '{action}'; accepted are {' and '.join(UNCOVERED_ACTIONS)}")
    if action == "exclude":
        return histogram.where(covered)
    clipped = np.clip(histogram.sizes, bounds[0].values, bounds[1].values)
    return histogram.with_sizes(np.where(covered[:, None], histogram.sizes, clipped))


def coverage_of(traffic: Traffic, covered: NDArray[np.bool_], action: str) -> Coverage:
    """Shares of requests and of work that are uncovered; NothingFeasible where all of it is."""
    histogram = traffic.histogram
    if not covered.any() and action == "exclude":
        raise NothingFeasible(
            f"none of the {histogram.request_count} requests is covered: sizes reach from "
            f"{histogram.smallest} to {histogram.largest}; scale an axis (--axis seq=COLUMN/256), clip "
            "with --uncovered clip, or measure those sizes"
        )
    requests = traffic.requests(histogram)
    work = histogram.work * histogram.counts
    outside = histogram.where(~covered)
    return Coverage(
        action=action,
        uncovered_requests=float(requests[~covered].sum()),
        uncovered_work=float(work[~covered].sum()),
        request_share=float(requests[~covered].sum() / requests.sum()),
        work_share=float(work[~covered].sum() / work.sum()) if work.sum() else 0.0,
        smallest_uncovered=outside.smallest if len(outside) else None,
        largest_uncovered=outside.largest if len(outside) else None,
    )
