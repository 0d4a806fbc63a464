"""A Gaussian model of log latency over (opt, size), exact where it was measured, that draws whole curves.

    log latency(opt, size) = base(size) + slopes . distance(opt, size) + wave(opt, size) + build noise

`base` is unknown at each size and learned from the first build on. `distance` says by how many doublings
of work the size lies above or below the opt: latency rises on both sides, more steeply for sizes above.
`wave` is a Gaussian process whose covariance is a product, one factor over opts and one over sizes (the
sizes timed are the same in every build, which keeps the algebra small). Its height and widths are those
of highest likelihood among a few, the slopes are averaged over with a Gaussian prior.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

SLOPES = np.array([0.13, 0.055])
"""Log latency for each doubling by which a size is above, or below, the opt; nearly the same in the two
recorded models, whose opts reach from 1 to 4096 (ranker) and from 32 to 32768 tokens (encoder)."""
SLOPE_SPREAD = np.array([0.06, 0.03])
BUILD_NOISE = 0.02
"""Spread of log latency between builds of one profile (fact 5 of the measurements)."""
STEADY = 1e-6
"""Added to a covariance's diagonal so that it can be factored."""
FREE_LEVEL = 3.0
"""Spread of `base`: so wide that the data alone decide."""
BASE_SLOPE = 0.5 * np.log(2)
"""Rise of log latency for each doubling of work, before anything is known: half of it in proportion."""
SIZE_WIDTH = 6.0
"""Doublings over which the wave changes along the sizes."""
SIZE_JITTER = 0.02
_HEIGHTS, _WORK_WIDTHS, _AXIS_WIDTHS = (0.06, 0.1, 0.18), (3.0, 6.0), (4.0, 8.0)
_LIKELY_HEIGHT = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """One choice of height and widths: covariance of opts, its inverse on the measured ones, the slopes."""

    likelihood: float
    opt_covariance: FloatArray
    inverse: FloatArray
    slopes: FloatArray
    slope_covariance: FloatArray


class LatencyModel:
    """The model for given opts, shape (opts, axes), and sizes, shape (sizes, axes)."""

    def __init__(self, opts: Int64Array, sizes: Int64Array) -> None:
        self._opts, self._sizes = _doublings(opts), _doublings(sizes)
        self._opt_work, size_work = self._opts.sum(axis=1), self._sizes.sum(axis=1)
        above = size_work[None, :] - self._opt_work[:, None]
        self._distance = np.stack([_soft(above), _soft(-above)], axis=-1)
        self._base = BASE_SLOPE * (size_work - size_work.min())
        apart = np.sqrt(_squares(self._sizes) + _squares(size_work[:, None])) / SIZE_WIDTH
        size_covariance = np.exp(-apart) + SIZE_JITTER * np.eye(len(sizes))
        self._size_root = np.linalg.cholesky(size_covariance)
        self._size_inverse = np.linalg.inv(size_covariance)

    def paths(
        self, rows: Int64Array, latency_ms: FloatArray, generator: np.random.Generator, count: int
    ) -> FloatArray:
        """Draws of the latencies of all opts at all sizes in ms, shape (count, opts, sizes).

        `rows` are the measured opts, `latency_ms` their times, shape (rows, sizes); a missing time (nan) is
        filled by what the other rows have there. Draws repeat the times of measured opts. They leave out the
        noise of builds: a lucky one is not worth searching for, since the recommended set is built anew.
        """
        measured = _filled(np.log(latency_ms)) if len(rows) else np.zeros((0, len(self._sizes)))
        fit = self._best_fit(rows, measured)
        slopes = generator.multivariate_normal(
            fit.slopes, fit.slope_covariance, size=count, method="cholesky"
        )
        mean = self._base + np.einsum("osk,nk->nos", self._distance, slopes)
        covariance = fit.opt_covariance - (FREE_LEVEL**2 if len(rows) == 0 else 0.0)
        if len(rows):
            weights = fit.opt_covariance[:, rows] @ fit.inverse
            mean = mean + np.einsum("om,nms->nos", weights, measured[None] - mean[:, rows])
            covariance = covariance - weights @ fit.opt_covariance[rows]
        root = np.linalg.cholesky(_symmetric(covariance) + STEADY * np.eye(len(covariance)))
        draws = generator.standard_normal((count, len(covariance), len(self._sizes)))
        result = np.exp(mean + root @ draws @ self._size_root.T)
        if len(rows):
            result[:, rows] = np.exp(measured)
        return np.asarray(result)

    def _best_fit(self, rows: Int64Array, measured: FloatArray) -> _Fit:
        choices = itertools.product(_HEIGHTS, _WORK_WIDTHS, _AXIS_WIDTHS)
        if len(rows) == 0:  # nothing to learn from: the middle of each
            choices = itertools.product((_LIKELY_HEIGHT,), _WORK_WIDTHS[-1:], _AXIS_WIDTHS[-1:])
        fits = [self._fit(rows, measured, *choice) for choice in choices]
        return max(fits, key=lambda fit: fit.likelihood)

    def _fit(
        self, rows: Int64Array, measured: FloatArray, height: float, work_width: float, axis_width: float
    ) -> _Fit:
        covariance = self._opt_covariance(height, work_width, axis_width)
        known = covariance[np.ix_(rows, rows)] + BUILD_NOISE**2 * np.eye(len(rows))
        inverse = np.linalg.inv(known)
        distance = self._distance[rows]
        residual = measured - self._base
        # Generalised least squares of the slopes, with their Gaussian prior.
        whitened = np.einsum("ij,jsk,st->itk", inverse, distance, self._size_inverse, optimize=True)
        precision = np.diag(SLOPE_SPREAD**-2.0) + np.einsum("isk,isl->kl", whitened, distance)
        pull = SLOPES / SLOPE_SPREAD**2 + np.einsum("isk,is->k", whitened, residual)
        slopes = np.linalg.solve(precision, pull)
        left = residual - distance @ slopes
        misfit = np.sum((inverse @ left @ self._size_inverse) * left)
        misfit += np.sum(((slopes - SLOPES) / SLOPE_SPREAD) ** 2)
        volume = len(self._sizes) * np.linalg.slogdet(known)[1] + np.linalg.slogdet(precision)[1]
        likelihood = -0.5 * (misfit + volume) - np.log(height / _LIKELY_HEIGHT) ** 2
        return _Fit(
            float(likelihood), covariance, np.asarray(inverse, np.float64), slopes, np.linalg.inv(precision)
        )

    def _opt_covariance(self, height: float, work_width: float, axis_width: float) -> FloatArray:
        """Matern 3/2 over the opts' work and axes, on top of the free level that they share."""
        squares = _squares(self._opt_work[:, None]) / work_width**2
        if self._opts.shape[1] > 1:
            squares = squares + _squares(self._opts) / axis_width**2
        apart = np.sqrt(3 * squares)
        return np.asarray(FREE_LEVEL**2 + height**2 * (1 + apart) * np.exp(-apart))


def _doublings(sizes: Int64Array) -> FloatArray:
    # A dimension of zero is legal; half a unit keeps it apart from one.
    return np.asarray(np.log2(np.maximum(sizes, 0.5)))


def _soft(doublings: FloatArray) -> FloatArray:
    """Zero below, the number of doublings above, and a rounded corner about one doubling wide."""
    return np.asarray(np.logaddexp(0, 2 * (doublings - 1)) / 2)


def _squares(points: FloatArray) -> FloatArray:
    """Squared distances between all pairs of rows."""
    return np.asarray(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1))


def _symmetric(matrix: FloatArray) -> FloatArray:
    return (matrix + matrix.T) / 2


def _filled(log_ms: FloatArray) -> FloatArray:
    """Missing times as the mean of the other rows there, shifted by how much this row differs elsewhere."""
    known = np.isfinite(log_ms)
    if known.all():
        return log_ms
    columns = np.array([np.mean(c[k]) if k.any() else np.nan for c, k in zip(log_ms.T, known.T, strict=True)])
    columns = np.where(np.isnan(columns), np.nanmean(columns), columns)
    shift = np.array(
        [np.mean((r - columns)[k]) if k.any() else 0.0 for r, k in zip(log_ms, known, strict=True)]
    )
    return np.where(known, log_ms, columns + shift[:, None])
