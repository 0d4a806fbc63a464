"""The grid: the sizes that are really timed, chosen so that interpolation between them costs little.

Where the traffic has few distinct sizes all of them are timed. Else the grid has the corners of the
range, powers of two and multiples of the kernels' tiles on each axis, and the heaviest sizes of the
traffic. Check points are heavy sizes off the grid: timed too, they tell how far interpolation is off.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.profiles.profile import OptimizationProfile
from tuner.traffic.histogram import SizeHistogram

Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

LARGEST_ERROR = 0.02
"""Traffic-weighted interpolation error that is aimed at."""
LIMIT = 64
CHECK_POINTS = 6
TILE = 128
"""Rows of a matrix that most GPU kernels take at once: latency rises in steps of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Sizes to time, shape (points, axes), and which of them are check points; both in lexical order."""

    sizes: Int64Array
    is_check: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if len(self.sizes) == 0 or len(self.sizes) != len(self.is_check):
            raise TunerError(f"grid has {len(self.sizes)} sizes and {len(self.is_check)} marks")


def choose_grid(histogram: SizeHistogram, profile: OptimizationProfile, limit: int = LIMIT) -> Grid:
    """The grid of one profile for the traffic that it covers; at most `limit` sizes and the corners."""
    inside = histogram.where(profile.covers_rows(histogram.sizes))
    corners = _corners(profile)
    if len(inside) <= limit:
        sizes = np.unique(np.concatenate([inside.sizes, corners]), axis=0)
        return Grid(sizes, np.zeros(len(sizes), dtype=bool))
    lattice = np.unique(np.concatenate([corners, _lattice(inside, profile, limit // 2)]), axis=0)
    by_weight = inside.sizes[inside.heaviest(len(inside), by_work=False)]
    heavy = _first_not_in(by_weight, lattice, max(limit - CHECK_POINTS - len(lattice), 0))
    timed = np.concatenate([lattice, heavy])
    checks = _first_not_in(by_weight, timed, CHECK_POINTS)
    sizes = np.concatenate([timed, checks])
    marks = np.arange(len(sizes)) >= len(timed)
    order = np.lexsort(sizes.T[::-1])
    return Grid(sizes[order], marks[order])


def interpolation_error(curve: Curve, grid: Grid, histogram: SizeHistogram) -> float | None:
    """Mean relative error at the check points, weighted by traffic, had they not been timed; None without."""
    timed = {tuple(row): ms for row, ms in zip(curve.sizes.tolist(), curve.latency_ms, strict=True)}
    checks = np.array([row for row in grid.sizes[grid.is_check].tolist() if tuple(row) in timed], np.int64)
    if len(checks) == 0:
        return None
    known = np.array([tuple(row) not in {tuple(c) for c in checks.tolist()} for row in curve.sizes.tolist()])
    without = Curve(curve.profile, curve.sizes[known], curve.latency_ms[known], curve.build_count)
    guessed, _ = without.latencies(checks)
    true = np.array([timed[tuple(row)] for row in checks.tolist()])
    counts = {tuple(r): int(c) for r, c in zip(histogram.sizes.tolist(), histogram.counts, strict=True)}
    weights = np.array([counts.get(tuple(row), 1) for row in checks.tolist()], dtype=np.float64)
    errors = np.abs(guessed / true - 1)
    usable = np.isfinite(errors)
    return float(np.average(errors[usable], weights=weights[usable])) if usable.any() else None


def refined(grid: Grid, histogram: SizeHistogram, profile: OptimizationProfile, more: int) -> Grid:
    """The grid with its check points as ordinary points, the next heaviest sizes, and new check points."""
    inside = histogram.where(profile.covers_rows(histogram.sizes))
    by_weight = inside.sizes[inside.heaviest(len(inside))]
    added = _first_not_in(by_weight, grid.sizes, more + CHECK_POINTS)
    sizes = np.concatenate([grid.sizes, added])
    marks = np.arange(len(sizes)) >= len(grid.sizes) + more
    return Grid(sizes, marks)


def _corners(profile: OptimizationProfile) -> Int64Array:
    pairs = zip(profile.min.values, profile.max.values, strict=True)
    points = [*itertools.product(*pairs), profile.opt.values]
    return np.array(points, dtype=np.int64)


def _lattice(histogram: SizeHistogram, profile: OptimizationProfile, limit: int) -> Int64Array:
    """A full product of ticks on each axis, thinned until it has at most `limit` points."""
    ticks = [
        _ticks(histogram.percentiles(axis, [50, 90]), profile.min[axis], profile.max[axis])
        for axis in profile.axes
    ]
    while np.prod([len(t) for t in ticks]) > limit:
        longest = max(range(len(ticks)), key=lambda i: len(ticks[i]))
        if len(ticks[longest]) <= 2:
            break
        inner = ticks[longest][1:-1]
        ticks[longest] = [ticks[longest][0], *inner[1::2], ticks[longest][-1]]
    return np.array(list(itertools.product(*ticks)), dtype=np.int64)


def _ticks(percentiles: Sequence[int], low: int, high: int) -> list[int]:
    powers = [1 << i for i in range(31) if low < 1 << i < high]
    tiles = [multiple for multiple in (TILE, 2 * TILE, 3 * TILE) if low < multiple < high]
    return sorted({low, high, *powers, *tiles, *(p for p in percentiles if low <= p <= high)})


def _first_not_in(rows: Int64Array, known: Int64Array, count: int) -> Int64Array:
    seen = {tuple(row) for row in known.tolist()}
    chosen = [row for row in rows.tolist() if tuple(row) not in seen][:count]
    return np.array(chosen, dtype=np.int64).reshape(-1, rows.shape[1])
