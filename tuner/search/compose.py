"""Composition: the best set of measured profiles under routing `best`, by branch and bound.

A set's latencies are the least of its profiles' at each size. Every objective and every limit here can
only fall when one more profile joins, so the best that a part of a set may still become is bounded by
adding all profiles that are left: what cannot beat the best set known is not followed.

Where a judge charges for changes, every set pays the least charge, which is part of the bound. What a set
pays beyond it, for changes of profile, is added to whole sets; of a part of a set one of its profiles serves
most, and requests that it cannot serve pay for the change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.replay.score import Judge, LatencyTable
from tuner.search.solver import median_by_solver

FloatArray = NDArray[np.float64]

ENTRY_LIMIT = 2_000_000_000
"""Latencies (sets x sizes) that one composition looks at before it is handed to the solver."""
BROKEN = 1e6
"""What a set that breaks a limit is worth in ms, times the overrun: worse than any set that keeps all."""
SORT_PRICE = 20
"""How many times longer a percentile takes than a mean, for each latency."""
_TIE = 1e-9
"""Weight of the mean latency in the comparison, so that percentiles which are equal do not tie."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What each row of a latency table costs: device memory and build time, shape (profiles,); 0 if unknown.

    A set takes the largest memory of its profiles and the sum of their build times.
    """

    memory_bytes: FloatArray
    build_s: FloatArray

    @classmethod
    def none(cls, rows: int) -> Resources:
        return cls(np.zeros(rows), np.zeros(rows))

    def overrun(self, rows: Sequence[int], judge: Judge) -> float:
        """By which share a set breaks its worst limit on resources; 0 where it keeps all."""
        chosen = list(rows)
        found = {
            "device_memory": float(self.memory_bytes[chosen].max()),
            "build_time": float(self.build_s[chosen].sum()),
        }
        limits = [slo for slo in judge.slos if slo.metric in found]
        return max((max(0.0, found[slo.metric] / slo.limit - 1) for slo in limits), default=0.0)


@dataclass(frozen=True, slots=True)
class ComposedSet:
    """Rows of the latency table that together score best, and their objective in ms.

    `overrun` is by which share the worst limit is broken, 0 where all are kept. `gap` is None where the
    set is proven to be the best, else by which share a better one may still lie below it (nan: unknown).
    """

    rows: tuple[int, ...]
    value: float
    overrun: float = 0.0
    gap: float | None = None


def best_sets(
    table: LatencyTable, judge: Judge, largest: int, resources: Resources | None = None
) -> list[ComposedSet]:
    """For each number of profiles from 1 to `largest` the best set under routing `best`.

    Only sets that serve every size count; a number of profiles for which there is none, or for which the
    table has too few rows, is left out.
    """
    found = (best_set(table, judge, count, resources) for count in range(1, largest + 1))
    return [composed for composed in found if composed is not None]


def best_set(
    table: LatencyTable,
    judge: Judge,
    count: int,
    resources: Resources | None = None,
    containing: int | None = None,
) -> ComposedSet | None:
    """The best set of exactly `count` profiles, one of them `containing` if given; None where none serves."""
    rows = len(table.latency_ms)
    if count > rows:
        return None
    search = _Branches(table, judge, count, resources or Resources.none(rows))
    search.follow(() if containing is None else (containing,))
    if search.best is None or math.isinf(search.best_worth):
        return None
    composed = search.best
    if search.is_cut_short:
        return (
            _by_solver(search, composed)
            if judge.objective == "gpu_time" and not judge.slos
            else (dataclasses.replace(composed, gap=math.nan))
        )
    return composed


class _Branches:
    """One branch and bound: rows in the order of how good they are alone, sets in that order."""

    def __init__(self, table: LatencyTable, judge: Judge, count: int, resources: Resources) -> None:
        self.shares, self.changes = judge.shares, judge.changes
        able = np.where(np.isfinite(table.latency_ms), table.latency_ms, np.inf)
        self.latency = able + self.changes.least(self.shares)
        self.judge = judge
        self.count = count
        self.resources = resources
        self.mean = judge.load.mean_weights
        self.best: ComposedSet | None = None
        self.best_worth = math.inf
        self.entries = 0
        self.dearer_ms = self.changes.profile_ms - self.changes.size_ms
        self.price = 1 if judge.objective == "gpu_time" and not judge.service_slos else SORT_PRICE
        self.order = [int(row) for row in np.argsort(self.worth(self.latency), kind="stable")]
        self._place_in_order()
        self._start_with_swaps()

    @property
    def is_cut_short(self) -> bool:
        return self.entries > ENTRY_LIMIT

    def worth(self, latency: FloatArray) -> FloatArray:
        """What sets with latencies (sets, sizes) are compared by; infinite where a size is unserved.

        For latencies without what a set pays beyond the least, a lower bound of it.
        """
        served = np.isfinite(latency).all(axis=-1)
        result = np.full(latency.shape[:-1], np.inf)
        if served.any():
            inside = latency[served]
            self.entries += inside.size * self.price
            values = self.judge.values(inside) + BROKEN * self.judge.overruns(inside)
            result[served] = values + _TIE * (inside @ self.mean)
        return result

    def _place_in_order(self) -> None:
        ordered = self.latency[self.order]
        # Row i: the least latencies of all rows from place i on.
        self.rest = np.minimum.accumulate(ordered[::-1], axis=0)[::-1]

    def _start_with_swaps(self) -> None:
        """A good set to begin with: add the best row in turn, then swap single rows while that helps."""
        chosen: list[int] = []
        for _ in range(self.count):
            chosen.append(self._best_beside(chosen))
        for _ in range(self.count):
            before = list(chosen)
            for place in range(self.count):
                others = chosen[:place] + chosen[place + 1 :]
                chosen[place] = self._best_beside(others)
            if chosen == before:
                break
        self.greedy = tuple(chosen)

    def _best_beside(self, others: Sequence[int]) -> int:
        beside = np.minimum(self.latency, self._least(others)) if others else self.latency
        worth = self.worth(self._charged(beside, others, range(len(self.latency))))
        worth[list(others)] = np.inf
        if not np.isfinite(worth).any():  # nothing serves every size yet: take what serves most
            served = np.where(np.isfinite(beside), 1.0, 0.0) @ self.mean
            served[list(others)] = -1
            return int(served.argmax())
        return int(worth.argmin())

    def _least(self, rows: Sequence[int]) -> FloatArray:
        return np.asarray(self.latency[list(rows)].min(axis=0))

    def _charged(self, beside: FloatArray, rows: Sequence[int], last: Sequence[int]) -> FloatArray:
        """Latencies of sets of all the rows and one of `last` each, with what they pay beyond the least.

        `beside` has them without, shape (last, sizes).
        """
        if not rows or self.dearer_ms == 0:
            return beside
        fixed = np.array(sorted(rows))
        among = self.latency[fixed].argmin(axis=0)
        server, least = fixed[among], self.latency[fixed].min(axis=0)
        added, row = self.latency[list(last)], np.array(last)[:, None]
        is_added = (added < least) | ((added == least) & (row < server))
        return beside + self.changes.beyond_least(self.shares, np.where(is_added, len(fixed), among))

    def whole(self, rows: Sequence[int]) -> FloatArray:
        """The latencies of one set, charges included, shape (sizes,); infinite where a size is unserved."""
        ordered = sorted(rows)
        return np.asarray(self._charged(self._least(ordered)[None], ordered[:-1], ordered[-1:])[0])

    def follow(self, fixed: tuple[int, ...]) -> None:
        """Look at every set that holds the fixed rows, as far as it may be better than the best known."""
        if set(fixed) <= set(self.greedy):
            self._offer(self.greedy, float(self.worth(self.whole(self.greedy)[None])[0]))
        start = self._least(fixed) if fixed else np.full(self.latency.shape[1], np.inf)
        if len(fixed) == self.count:
            self._offer(fixed, float(self.worth(self.whole(fixed)[None])[0]))
            return
        self._extend(fixed, start, 0)

    def _extend(self, rows: tuple[int, ...], least: FloatArray, place: int) -> None:
        missing = self.count - len(rows)
        if missing == 1:
            self._finish(rows, least, place)
            return
        for at in range(place, len(self.order) - missing + 1):
            row = self.order[at]
            if row in rows or self.is_cut_short:
                continue
            if self._bound(rows, least, at) >= self.best_worth:
                return  # the rows further on leave even less
            self._extend((*rows, row), np.minimum(least, self.latency[row]), at + 1)

    def _bound(self, rows: Sequence[int], least: FloatArray, place: int) -> float:
        """What every set is worth at least that holds the rows, and else rows from a place on.

        `least` are the least latencies of the rows, shape (sizes,).
        """
        low = np.minimum(least, self.rest[place])
        plain = float(self.worth(low[None])[0])
        if self.dearer_ms == 0 or plain >= self.best_worth:
            return plain
        # The profile that serves most serves no size at which a row is faster. Any other has half of the
        # inferences at most, so its own come after another profile half of the time or more. With shares p
        # all pay 1 - sum(p^2) >= 1 - max(p) together: in the mean as if each of the others always paid.
        most = self.latency[[*rows, *self.order[place:]]]
        elsewhere = low + self.dearer_ms * (1.0 if self._is_mean_of_inferences else 0.5)
        served = np.where(most <= least, np.minimum(most, elsewhere), elsewhere)
        return float(self.worth(served).min())

    @property
    def _is_mean_of_inferences(self) -> bool:
        judge = self.judge
        return judge.objective == "gpu_time" and judge.weight == "requests" and not judge.service_slos

    def _finish(self, rows: tuple[int, ...], least: FloatArray, place: int) -> None:
        last = [row for row in self.order[place:] if row not in rows]
        if not last:
            return
        beside = np.minimum(self.latency[last], least)
        worth = self.worth(beside)
        if rows and self.dearer_ms > 0:
            last = [row for row, bound in zip(last, worth, strict=True) if bound < self.best_worth]
            beside = beside[worth < self.best_worth]
            worth = self.worth(self._charged(beside, rows, last))
        for at in np.argsort(worth, kind="stable"):
            if worth[at] >= self.best_worth or not self._offer((*rows, last[at]), float(worth[at])):
                return

    def _offer(self, rows: tuple[int, ...], worth: float) -> bool:
        """Take the set if it is the best so far; True where a worse one of the same rows may still be."""
        overrun = self.resources.overrun(rows, self.judge)
        if worth + BROKEN * overrun < self.best_worth and math.isfinite(worth):
            whole = self.whole(rows)
            overrun = max(overrun, float(self.judge.overruns(whole)))
            self.best_worth = worth + BROKEN * self.resources.overrun(rows, self.judge)
            self.best = ComposedSet(tuple(sorted(rows)), self.judge.value(whole), overrun)
        return overrun > 0


def _by_solver(search: _Branches, known: ComposedSet) -> ComposedSet:
    """Past the limit of enumeration: the set of the solver, or the known one if that is better.

    The solver charges every set the least for changes, so that its bound is one of charged sets too.
    """
    rows, bound = median_by_solver(search.latency, search.mean, search.count)
    value = search.judge.value(search.whole(rows)) if rows else math.inf
    best = ComposedSet(rows, value) if value < known.value else known
    return dataclasses.replace(best, gap=max(0.0, 1 - bound / best.value) if bound == bound else math.nan)
