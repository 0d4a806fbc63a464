"""The score of a profile set on traffic: replay of the measured latencies, request by request."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.replay.changes import FREE, ChangeCosts
from tuner.replay.objective import Load, load_of, objective_named
from tuner.replay.slo import RESOURCES, Slo
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.percentiles import weighted_percentiles

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LatencyTable:
    """Latencies of several profiles at the sizes of a histogram.

    `latency_ms` has shape (profiles, distinct), NaN where a profile does not cover a size or has no time
    for it; `interpolated` marks the entries that were not measured.
    """

    latency_ms: FloatArray
    interpolated: NDArray[np.bool_]

    def of(self, rows: Sequence[int]) -> LatencyTable:
        """The table of some of the profiles."""
        return LatencyTable(self.latency_ms[list(rows)], self.interpolated[list(rows)])


def latency_table(curves: Sequence[Curve], histogram: SizeHistogram) -> LatencyTable:
    answers = [curve.latencies(histogram.sizes) for curve in curves]
    return LatencyTable(np.stack([a[0] for a in answers]), np.stack([a[1] for a in answers]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a profile set costs on traffic; all times in ms, less is better for `value`.

    All of them include what changes of size and of profile cost, as far as that is known. `value` is the
    objective. `gpu_time_ms` is GPU time per request, the service percentiles are over
    requests, the throughputs are those of one GPU that is always busy. `interpolated_share` is the share of
    requests whose latency was interpolated between measured sizes.
    """

    objective: str
    value: float
    gpu_time_ms: float
    service_p50_ms: float
    service_p90_ms: float
    service_p99_ms: float
    requests_per_gpu_s: float
    work_per_gpu_s: float
    interpolated_share: float


@dataclass(frozen=True, slots=True)
class Judge:
    """The traffic to score by and how: which sizes weigh what, under which objective and limits.

    `changes` is what requests are charged for coming after another size or profile.
    """

    histogram: SizeHistogram
    requests: FloatArray
    objective: str = "gpu_time"
    weight: str = "requests"
    slos: tuple[Slo, ...] = ()
    changes: ChangeCosts = FREE

    def charging(self, changes: ChangeCosts) -> Judge:
        """The same judge under other costs of changes."""
        return dataclasses.replace(self, changes=changes)

    @property
    def load(self) -> Load:
        return load_of(self.histogram, self.requests, self.weight)

    @property
    def service_slos(self) -> tuple[Slo, ...]:
        """The limits that latencies have to keep; the others are about resources."""
        return tuple(slo for slo in self.slos if slo.metric not in RESOURCES)

    @property
    def shares(self) -> FloatArray:
        """The share of each size among all inferences, shape (distinct,)."""
        return np.asarray(self.histogram.counts / self.histogram.counts.sum())

    def served_ms(self, latency_ms: FloatArray, profile_index: NDArray[np.int64]) -> FloatArray | None:
        """What each size takes where profile `profile_index[i]` serves size i, charges for changes included.

        `latency_ms` has shape (profiles, distinct), the result (distinct,); None where a size is not served.
        """
        served = latency_ms[profile_index, np.arange(len(profile_index))]
        if (profile_index < 0).any() or not np.isfinite(served).all():
            return None
        if self.changes.are_free:
            return np.asarray(served)
        return np.asarray(served + self.changes.charges(self.shares, profile_index))

    def best_served_ms(self, latency_ms: FloatArray) -> FloatArray | None:
        """The same under routing `best`: the least latency serves, the first of those that are equal."""
        able = np.where(np.isfinite(latency_ms), latency_ms, np.inf)
        return self.served_ms(able, able.argmin(axis=0))

    def value(self, latency_ms: FloatArray) -> float:
        """The objective for one latency per size, shape (distinct,)."""
        return float(self.values(latency_ms))

    def values(self, latency_ms: FloatArray) -> FloatArray:
        """The objective for latencies of shape (..., distinct); shape (...,)."""
        return objective_named(self.objective)(latency_ms, self.load)

    def overruns(self, latency_ms: FloatArray) -> FloatArray:
        """By which share the worst limit is broken, 0 where all are kept; shapes as in `values`.

        Percentiles of a limit are over requests, whatever the objective weighs by.
        """
        worst = np.zeros(latency_ms.shape[:-1])
        load = load_of(self.histogram, self.requests, "requests")
        for slo in self.service_slos:
            found = objective_named(slo.metric)(latency_ms, load)
            worst = np.maximum(worst, found / slo.limit - 1)
        return worst

    def score(self, table: LatencyTable, profile_index: NDArray[np.int64]) -> Score:
        """The score when profile `profile_index[i]` serves size i; every size has to be served."""
        latency_ms = self.served_ms(table.latency_ms, profile_index)
        if latency_ms is None or len(latency_ms) == 0:
            raise TunerError("cannot score a profile set on sizes that it does not serve")
        load = self.load
        gpu_ms = float(latency_ms @ load.inferences)
        p50, p90, p99 = weighted_percentiles(latency_ms, load.requests, (50, 90, 99))
        between = table.interpolated[profile_index, np.arange(len(profile_index))]
        return Score(
            objective=self.objective,
            value=self.value(latency_ms),
            gpu_time_ms=gpu_ms / float(load.requests.sum()),
            service_p50_ms=p50,
            service_p90_ms=p90,
            service_p99_ms=p99,
            requests_per_gpu_s=1000 * float(load.requests.sum()) / gpu_ms,
            work_per_gpu_s=1000 * self.histogram.total_work / gpu_ms,
            interpolated_share=float(load.requests[between].sum() / load.requests.sum()),
        )
