"""What a search knows so far: measured profiles, their latencies on the traffic, the best sets of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.measurements.source import MeasuredProfile
from tuner.replay.score import Judge, LatencyTable, latency_table
from tuner.search.compose import ComposedSet, Resources, best_set
from tuner.search.outlook import Outlook, condensed, look_out, worth
from tuner.search.space import Space

LEAST_TO_PRUNE_BY = 2
"""Profiles beyond those of a set that must be measured before another one may be given up half way."""
OPTIMISM = 0.85
"""What a profile may take at sizes not timed yet, as a share of the best time known there."""


def resources_of(measured: Sequence[MeasuredProfile]) -> Resources:
    """Memory and build time of each profile; what is not known counts as nothing."""
    memory = [float(m.device_memory_bytes or 0) for m in measured]
    return Resources(np.array(memory), np.array([m.build_s or 0.0 for m in measured]))


class Known:
    """Grows by one measured profile at a time."""

    def __init__(self, judge: Judge, mode: Mode, max_profiles: int) -> None:
        self.judge = judge
        self.measured: list[MeasuredProfile] = []
        self.best: ComposedSet | None = None
        self._mode = mode
        self._max_profiles = max_profiles
        self._condensed = condensed(judge)
        self._latency: list[NDArray[np.float64]] = []
        self._condensed_latency: list[NDArray[np.float64]] = []

    def add(self, measured: MeasuredProfile) -> ComposedSet | None:
        """Take a profile in; returns the best set that it is part of, None where none serves every size."""
        curve = measured.curve(self._mode)
        self.measured.append(measured)
        self._latency.append(latency_table([curve], self.judge.histogram).latency_ms[0])
        self._condensed_latency.append(curve.latencies(self._condensed.histogram.sizes)[0])
        row = len(self.measured) - 1
        table = self.table()
        resources = resources_of(self.measured)
        counts = range(1, min(self._max_profiles, len(self.measured)) + 1)
        sets = [best_set(table, self.judge, count, resources, containing=row) for count in counts]
        found = min((s for s in sets if s is not None), key=_rank, default=None)
        if found is not None and (self.best is None or _rank(found) < _rank(self.best)):
            self.best = found
        return found

    def table(self) -> LatencyTable:
        """Latencies of every measured profile at every size of the traffic."""
        rows = np.stack(self._latency)
        return LatencyTable(rows, np.zeros(rows.shape, dtype=bool))

    def overruns(self, composed: ComposedSet | None) -> Mapping[str, float]:
        """What a set breaks, as shares by name; zero or less is kept."""
        if composed is None:
            return {"coverage": 1.0}
        served = self.table().latency_ms[list(composed.rows)]
        least = np.nanmin(served, axis=0)
        resources = resources_of(self.measured)
        found = {"coverage": 0.0}
        for slo in self.judge.slos:
            alone = Judge(self.judge.histogram, self.judge.requests, slos=(slo,))
            found[slo.metric] = max(float(alone.overruns(least)), resources.overrun(composed.rows, alone))
        return found

    def outlook(
        self,
        space: Space,
        generator: np.random.Generator,
        believed: tuple[list[int], NDArray[np.float64]] | None = None,
    ) -> Outlook:
        """What further builds in the space may gain.

        `believed` are rows of opts that count as measured too, with their latencies, shape (rows, sizes).
        """
        latency = np.array(self._condensed_latency).reshape(-1, len(self._condensed.histogram))
        rows = list(space.rows(m.profile.opt for m in self.measured))
        if believed is not None:
            rows, latency = rows + believed[0], np.concatenate([latency, believed[1]])
        return look_out(space.as_array(), self._condensed, (rows, latency), self._max_profiles, generator)

    @property
    def can_prune(self) -> bool:
        """True where enough is known to give up on a profile half way."""
        return len(self.measured) >= self._max_profiles + LEAST_TO_PRUNE_BY

    def why_hopeless(self, curve: Curve, row: int, outlook: Outlook) -> str | None:
        """Why a profile that is timed in part cannot enter the best set at its best, or None.

        `row` is its opt's place in the space of the outlook.
        """
        if not self.can_prune or not np.isfinite(outlook.best):
            return None
        sizes = self._condensed.histogram.sizes
        timed = {tuple(s): ms for s, ms in zip(curve.sizes.tolist(), curve.latency_ms.tolist(), strict=True)}
        known = np.array(self._condensed_latency)
        low = np.fmin(outlook.low_ms[row], OPTIMISM * np.fmin.reduce(known, axis=0))
        latency = np.array([timed.get(tuple(s), ms) for s, ms in zip(sizes.tolist(), low, strict=True)])
        at_best = min(float(worth(self._condensed, np.minimum(latency, base))) for base in outlook.bases)
        if at_best < outlook.best:
            return None
        return (
            f"after {len(timed)} of its sizes: even at its most optimistic its best set takes {at_best:.4g} "
            f"ms, the best one known {outlook.best:.4g} ms"
        )


def _rank(composed: ComposedSet) -> tuple[float, float]:
    return composed.overrun, composed.value
