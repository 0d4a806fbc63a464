"""The curve of one profile: latency over sizes, exact where it was measured, interpolated between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import RunFailed, TunerError
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import OptimizationProfile

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Measured latencies of one profile.

    `sizes` has shape (points, axes), int64; `latency_ms` has shape (points,): for each size the median
    over `build_count` builds of the p50 of its samples.
    """

    profile: OptimizationProfile
    sizes: NDArray[np.int64]
    latency_ms: FloatArray
    build_count: int = 1

    def __post_init__(self) -> None:
        if len(self.sizes) == 0 or len(self.sizes) != len(self.latency_ms):
            raise TunerError(
                f"curve of {self.profile} has {len(self.sizes)} sizes, {len(self.latency_ms)} times"
            )
        if not np.isfinite(self.latency_ms).all() or self.latency_ms.min() <= 0:
            raise RunFailed(
                f"curve of {self.profile} holds a time that is not above zero and finite", "not_finite"
            )

    def latencies(self, sizes: NDArray[np.int64]) -> tuple[FloatArray, BoolArray]:
        """Latency in ms at each row of `sizes`, and which of them are interpolated; shapes (rows,).

        NaN stands for a size outside the profile or outside what was measured. Between measured sizes the
        logarithm of the latency is interpolated linearly over the logarithms of the axes.
        """
        exact = _matches(self.sizes, sizes)
        result = np.where(exact >= 0, self.latency_ms[exact], np.nan)
        covered = self.profile.covers_rows(sizes)
        missing = covered & (exact < 0)
        if missing.any():
            result[missing] = self._interpolated(sizes[missing])
        result[~covered] = np.nan
        return result, missing & np.isfinite(result)

    def _interpolated(self, sizes: NDArray[np.int64]) -> FloatArray:
        # An axis with one measured value carries no slope: it has to be met exactly.
        varying = [i for i in range(self.sizes.shape[1]) if len(np.unique(self.sizes[:, i])) > 1]
        fixed = [i for i in range(self.sizes.shape[1]) if i not in varying]
        reachable = (sizes[:, fixed] == self.sizes[0, fixed]).all(axis=1)
        result = np.full(len(sizes), np.nan)
        if varying and reachable.any():
            known, wanted = logarithms(self.sizes[:, varying]), logarithms(sizes[reachable][:, varying])
            result[reachable] = np.exp(_interpolate(known, np.log(self.latency_ms), wanted))
        return result


def _interpolate(known: FloatArray, values: FloatArray, wanted: FloatArray) -> FloatArray:
    """Linear interpolation in any number of dimensions; NaN outside the known points."""
    from scipy.interpolate import LinearNDInterpolator, RegularGridInterpolator

    ticks = tuple(np.unique(known[:, i]) for i in range(known.shape[1]))
    if np.prod([len(t) for t in ticks]) == len(known):
        order = np.lexsort(known.T[::-1])
        table = values[order].reshape([len(t) for t in ticks])
        grid = RegularGridInterpolator(ticks, table, bounds_error=False, fill_value=np.nan)
        return np.asarray(grid(wanted))
    scattered = LinearNDInterpolator(known, values)
    return np.asarray(scattered(wanted))


def _matches(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each wanted row the position of the equal known row, or -1; shape (rows,)."""
    rows = {tuple(row): i for i, row in enumerate(known.tolist())}
    return np.array([rows.get(tuple(row), -1) for row in wanted.tolist()], dtype=np.int64)
