"""Objectives: one number in milliseconds from the latencies of all requests, less is better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError, nearest_name
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.percentiles import weighted_percentiles

FloatArray = NDArray[np.float64]
WEIGHTS = ("requests", "work")


@dataclass(frozen=True, slots=True)
class Load:
    """What each distinct size weighs, all of shape (distinct,).

    `inferences` counts executions, `requests` the requests in them (an executed batch holds several), and
    `weights` is what the objective weighs by: requests, or requests times work.
    """

    inferences: FloatArray
    requests: FloatArray
    weights: FloatArray


def load_of(histogram: SizeHistogram, requests: FloatArray, weight: str) -> Load:
    """The load of a histogram whose sizes stand for the given requests, shape (distinct,)."""
    if weight not in WEIGHTS:
        raise TunerError(f"--weight is '{weight}'; accepted are {' and '.join(WEIGHTS)}")
    inferences = histogram.counts.astype(np.float64)
    if weight == "requests":
        return Load(inferences, requests, requests)
    return Load(inferences, requests, inferences * histogram.work)


def gpu_time(latency_ms: FloatArray, load: Load) -> float:
    """Mean GPU time in ms: per request, or by work the mean that a unit of work experiences."""
    if load.weights is load.requests:
        return float(latency_ms @ load.inferences / load.requests.sum())
    return float(latency_ms @ load.weights / load.weights.sum())


def service_percentile(percent: float) -> Callable[[FloatArray, Load], float]:
    """A percentile of service time over requests (or over work), nearest rank."""

    def percentile(latency_ms: FloatArray, load: Load) -> float:
        return weighted_percentiles(latency_ms, load.weights, [percent])[0]

    return percentile


OBJECTIVES: Mapping[str, Callable[[FloatArray, Load], float]] = {
    "gpu_time": gpu_time,
    "service_p50": service_percentile(50),
    "service_p90": service_percentile(90),
    "service_p99": service_percentile(99),
}


def objective_named(name: str) -> Callable[[FloatArray, Load], float]:
    if name not in OBJECTIVES:
        known = ", ".join(OBJECTIVES)
        raise TunerError(
            f"there is no objective '{name}'{nearest_name(name, OBJECTIVES)}; accepted are {known}"
        )
    return OBJECTIVES[name]
