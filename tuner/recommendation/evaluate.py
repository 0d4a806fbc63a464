"""Scores profile sets on the tuned traffic and on the holdout: the chosen one and every rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.measurements.measurement import Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile, ProfileSource
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import route_best
from tuner.profiles.rules import RULE_NAMES, profiles_by_rule
from tuner.recommendation.recommendation import Evaluated
from tuner.replay.changes import ChangeCosts
from tuner.replay.score import Judge, LatencyTable, Score, latency_table

Router = Callable[[NDArray[np.int64]], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Judges:
    """The traffic to score by: the part that the search saw and, where there is one, the holdout."""

    tune: Judge
    holdout: Judge | None

    def charging(self, changes: ChangeCosts) -> Judges:
        """The same judges under other costs of changes."""
        holdout = None if self.holdout is None else self.holdout.charging(changes)
        return Judges(self.tune.charging(changes), holdout)


def evaluate(
    profiles: ProfileSet,
    measured: Sequence[MeasuredProfile],
    judges: Judges,
    mode: Mode,
    route: Router | None,
) -> Evaluated:
    """Scores of a set; profile i has the curve of `measured[i]`, and `route` or `best` serves a size."""
    curves = [m.curve(mode) for m in measured]

    def score(judge: Judge | None) -> Score | None:
        if judge is None:
            return None
        table = latency_table(curves, judge.histogram)
        index = _route(profiles, table, judge, route)
        return None if judge.served_ms(table.latency_ms, index) is None else judge.score(table, index)

    return Evaluated(profiles=profiles, tune=score(judges.tune), holdout=score(judges.holdout))


def _route(
    profiles: ProfileSet, table: LatencyTable, judge: Judge, route: Router | None
) -> NDArray[np.int64]:
    if route is not None:
        return route(judge.histogram.sizes)
    return route_best(profiles, judge.histogram.sizes, table.latency_ms)


def evaluate_rules(
    source: ProfileSource, judges: Judges, mode: Mode, max_profiles: int
) -> dict[str, Evaluated]:
    """Every rule on the same traffic and curves.

    A rule whose profile cannot be had is shown at the nearest opt that can be, and marked so.
    """
    results = {}
    for name in RULE_NAMES:
        profiles = profiles_by_rule(name, judges.tune.histogram, max_profiles)
        stand_ins = [_measured_or_nearest(source, profile, judges.tune) for profile in profiles]
        failed = next((s for s in stand_ins if isinstance(s[0], FailedProfile)), None)
        if failed is not None:
            reason = failed[0].reason if isinstance(failed[0], FailedProfile) else None
            results[name] = Evaluated(profiles=profiles, tune=None, holdout=None, reason=reason)
            continue
        measured = [s[0] for s in stand_ins if isinstance(s[0], MeasuredProfile)]
        marks = [s[1] for s in stand_ins if s[1] is not None]
        own = evaluate(profiles, measured, judges, mode, None)
        results[name] = Evaluated(
            profiles=profiles,
            tune=own.tune,
            holdout=own.holdout,
            judged_at="nearest:" + "+".join(opt.short for opt in marks) if marks else None,
        )
    return results


def _measured_or_nearest(
    source: ProfileSource, profile: OptimizationProfile, judge: Judge
) -> tuple[MeasuredProfile | FailedProfile, Size | None]:
    outcome = source.measure(profile, judge.histogram.sizes)
    candidates = source.candidates()
    if isinstance(outcome, MeasuredProfile) or candidates is None:
        return outcome, None
    able = [c for c in candidates if c.contains(profile)]
    if not able:
        return outcome, None
    wanted = logarithms(profile.opt.values)
    distances = [np.abs(logarithms(c.opt.values) - wanted).sum() for c in able]
    nearest = able[int(np.argmin(distances))]
    return source.measure(nearest, judge.histogram.sizes), nearest.opt
