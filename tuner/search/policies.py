"""The best set for each routing policy, ranges and order included, from the same measured curves.

Where a policy picks by range, ranges are variables, drawn from cuts of the traffic:

- nested boxes: profile i serves what lies under its upper corner and not under that of the one before,
  as `first_fit` finds it with the smallest range first;
- slabs: each profile has a range of one axis to itself, so that every policy agrees (`sticky` and
  `nearest_opt` too).

Both families are searched exactly by dynamic programming over all cuts and profiles. For a percentile the
least limit is found by bisection under which enough traffic stays. `nearest_opt` is tried with full ranges
too, where the opts decide. What changes cost is the judge's to charge, and is so in the final comparison;
the search for ranges leaves out of percentiles what a change of profile costs beyond one of size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.measurements.measurement import Mode
from tuner.measurements.source import MeasuredProfile
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import (
    IndexArray,
    opt_distances,
    route_first_fit,
    route_nearest_opt,
    route_profile_zero,
)
from tuner.replay.score import Judge, latency_table
from tuner.search.cuts import best_boxes, best_slabs, cuts_of

FloatArray = NDArray[np.float64]

SETS_LIMIT = 5_000
"""Sets of opts that are tried under `nearest_opt`; of more profiles the best ones alone take part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedSet:
    """A set with its final ranges and order under one policy; `value` is the objective in ms.

    `measured` gives each profile's curve, in the set's order; `switch_share` is how often a request is
    served by another profile than the one before it.
    """

    policy: str
    profiles: ProfileSet
    measured: tuple[MeasuredProfile, ...]
    value: float
    switch_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyProblem:
    """What the policies choose from: curves over the whole range, traffic, how many profiles at most."""

    measured: tuple[MeasuredProfile, ...]
    judge: Judge
    mode: Mode
    model: Model
    bounds: tuple[Size, Size]
    max_profiles: int

    def latency_ms(self) -> FloatArray:
        """Shape (profiles, sizes), with the least that every set is charged for changes."""
        curves = [m.curve(self.mode) for m in self.measured]
        latency = latency_table(curves, self.judge.histogram).latency_ms
        return np.where(np.isfinite(latency), latency, np.inf) + self.judge.changes.least(self.judge.shares)


def router(policy: str, profiles: ProfileSet, model: Model) -> Callable[[NDArray[np.int64]], IndexArray]:
    """The policy as a function of sizes; `sticky` as `first_fit`, which it equals for ranges apart."""
    if policy == "nearest_opt":
        return lambda sizes: route_nearest_opt(profiles, sizes, model)
    if policy == "profile_zero":
        return lambda sizes: route_profile_zero(profiles, sizes)
    return lambda sizes: route_first_fit(profiles, sizes)


def best_by_policy(problem: PolicyProblem) -> dict[str, RoutedSet]:
    """The best set of each policy that has one; more profiles only where they are better."""
    latency = problem.latency_ms()
    cuts = cuts_of(problem.judge.histogram, problem.bounds[1])
    opts = np.array([m.profile.opt.values for m in problem.measured], dtype=np.int64)
    slabs = [
        _routed("first_fit", problem, found)
        for found in best_slabs(problem.judge, latency, opts, cuts, problem.max_profiles)
    ]
    boxes = [
        _routed("first_fit", problem, found)
        for found in best_boxes(problem.judge, latency, opts, cuts, problem.max_profiles)
    ]
    alone = _routed("profile_zero", problem, _alone(problem, latency))
    families: Mapping[str, Sequence[RoutedSet | None]] = {
        "nearest_opt": [alone, *slabs, *_by_opt(problem, latency, opts)],
        "profile_zero": [alone],
        "first_fit": [alone, *slabs, *boxes],
        "sticky": [alone, *slabs],
    }
    best = {}
    for policy, found in families.items():
        served = [_under(policy, problem, routed) for routed in found if routed is not None]
        able = [routed for routed in served if np.isfinite(routed.value)]
        if able:
            best[policy] = min(able, key=lambda routed: (routed.value, len(routed.profiles)))
    return best


Ranged = list[tuple[int, Size, Size]]
"""Profiles in their order: the row of a measured one, its min and its max."""


def _alone(problem: PolicyProblem, latency: FloatArray) -> Ranged:
    served = np.isfinite(latency).all(axis=1)
    if not served.any():
        return []
    values = np.full(len(latency), np.inf)
    values[served] = problem.judge.values(latency[served])
    return [(int(values.argmin()), *problem.bounds)]


def _by_opt(problem: PolicyProblem, latency: FloatArray, opts: NDArray[np.int64]) -> list[RoutedSet | None]:
    """Sets with full ranges, whose opts alone decide under `nearest_opt`; the best of each number."""
    judge = problem.judge
    able = np.flatnonzero(np.isfinite(latency).all(axis=1))
    if len(able) == 0:
        return []
    ranked = able[np.argsort(judge.values(latency[able]), kind="stable")]
    distances = opt_distances(opts, judge.histogram.sizes, problem.model.axes, problem.model)
    found: list[RoutedSet | None] = []
    for count in range(2, problem.max_profiles + 1):
        rows = ranked
        while math.comb(len(rows), count) > SETS_LIMIT:
            rows = rows[:-1]
        best: tuple[float, tuple[int, ...]] = (np.inf, ())
        for chosen in itertools.combinations(sorted(int(row) for row in rows), count):
            by_work = tuple(sorted(chosen, key=lambda row: problem.measured[row].profile.opt.work))
            index = distances[list(by_work)].argmin(axis=0)
            served = latency[list(by_work)][index, np.arange(latency.shape[1])]
            value = judge.value(served + judge.changes.beyond_least(judge.shares, index))
            best = min(best, (value, by_work))
        if best[1]:
            found.append(_routed("nearest_opt", problem, [(row, *problem.bounds) for row in best[1]]))
    return found


def _routed(policy: str, problem: PolicyProblem, ranged: Ranged) -> RoutedSet | None:
    """The set with these ranges, each widened to hold its opt; None for no profiles."""
    if not ranged:
        return None
    profiles = []
    for row, low, high in ranged:
        opt = problem.measured[row].profile.opt
        pairs = list(zip(low.values, opt.values, high.values, strict=True))
        profiles.append(
            OptimizationProfile(
                Size(opt.axes, tuple(min(a, o) for a, o, _ in pairs)),
                opt,
                Size(opt.axes, tuple(max(b, o) for _, o, b in pairs)),
            )
        )
    measured = tuple(problem.measured[row] for row, _, _ in ranged)
    return RoutedSet(
        policy=policy, profiles=ProfileSet(tuple(profiles)), measured=measured, value=np.inf, switch_share=0.0
    )


def _under(policy: str, problem: PolicyProblem, routed: RoutedSet) -> RoutedSet:
    """The set as the policy really routes it, with what changes cost."""
    judge, histogram = problem.judge, problem.judge.histogram
    index = router(policy, routed.profiles, problem.model)(histogram.sizes)
    latency = latency_table([m.curve(problem.mode) for m in routed.measured], histogram).latency_ms
    served = judge.served_ms(latency, index)
    value, switches = np.inf, 0.0
    if served is not None:
        shares = np.bincount(index, weights=histogram.counts) / histogram.counts.sum()
        switches = float(1 - (shares**2).sum())
        value = judge.value(served)
    return RoutedSet(
        policy=policy,
        profiles=routed.profiles,
        measured=routed.measured,
        value=value,
        switch_share=switches,
    )
