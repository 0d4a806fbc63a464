"""Objectives: one number in milliseconds from the latencies of all requests, less is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError, nearest_name
from tuner.traffic.histogram import SizeHistogram

FloatArray = NDArray[np.float64]
WEIGHTS = ("requests", "work")


@dataclass(frozen=True, slots=True)
class Load:
    """What each distinct size weighs, all of shape (distinct,).

    `inferences` counts executions, `requests` the requests in them (an executed batch holds several), and
    `weights` is what the objective weighs by: requests, or inferences times work.
    """

    inferences: FloatArray
    requests: FloatArray
    weights: FloatArray

    @property
    def mean_weights(self) -> FloatArray:
        """Weights with which the mean objective is a plain dot product with the latencies."""
        if self.weights is self.requests:
            return np.asarray(self.inferences / self.requests.sum())
        return np.asarray(self.weights / self.weights.sum())


def load_of(histogram: SizeHistogram, requests: FloatArray, weight: str) -> Load:
    """The load of a histogram whose sizes stand for the given requests, shape (distinct,)."""
    if weight not in WEIGHTS:
        raise TunerError(f"--weight is '{weight}'; accepted are {' and '.join(WEIGHTS)}")
    inferences = histogram.counts.astype(np.float64)
    if weight == "requests":
        return Load(inferences, requests, requests)
    return Load(inferences, requests, inferences * histogram.work)


Objective = Callable[[FloatArray, Load], FloatArray]
"""From latencies of shape (..., distinct) in ms to values of shape (...,) in ms."""


def gpu_time(latency_ms: FloatArray, load: Load) -> FloatArray:
    """Mean GPU time in ms: per request, or by work the mean that a unit of work experiences."""
    return np.asarray(latency_ms @ load.mean_weights)


def service_percentile(percent: float) -> Objective:
    """A percentile of service time over requests (or over work), nearest rank."""

    def percentile(latency_ms: FloatArray, load: Load) -> FloatArray:
        order = np.argsort(latency_ms, axis=-1)
        reached = np.cumsum(load.weights[order], axis=-1)
        # As `numpy.quantile(..., method="inverted_cdf")` has it: the first rank that reaches the share.
        rank = (reached / reached[..., -1:] < percent / 100).sum(axis=-1, keepdims=True)
        chosen = np.take_along_axis(order, np.minimum(rank, order.shape[-1] - 1), axis=-1)
        return np.asarray(np.take_along_axis(latency_ms, chosen, axis=-1)[..., 0])

    return percentile


OBJECTIVES: Mapping[str, Objective] = {
    "gpu_time": gpu_time,
    "service_p50": service_percentile(50),
    "service_p90": service_percentile(90),
    "service_p99": service_percentile(99),
}


def objective_named(name: str) -> Objective:
    if name not in OBJECTIVES:
        known = ", ".join(OBJECTIVES)
        raise TunerError(
            f"there is no objective '{name}'{nearest_name(name, OBJECTIVES)}; accepted are {known}"
        )
    return OBJECTIVES[name]
