"""Settles which set to recommend: chooses, confirms, and chooses again where a set comes out otherwise."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuner.errors import NothingFeasible
from tuner.measurements.source import MeasuredProfile
from tuner.recommendation.choose import Choice, Contender
from tuner.recommendation.confirm import Confirm, as_confirmed, confirm_set, is_otherwise
from tuner.recommendation.contest import Contest
from tuner.recommendation.recommendation import Confirmation, Evaluated
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic
from tuner.replay.score import LatencyTable, latency_table
from tuner.search.compose import ComposedSet, best_sets
from tuner.search.known import resources_of

MOST_CONFIRMATIONS = 3
"""Sets that are built as one engine at most: each costs a build of several profiles."""
MARGINAL_COUNTS = 6
"""Up to how many profiles the gain of one more is shown."""


@dataclass(frozen=True, slots=True)
class Standards:
    """What sets are judged by: the traffic, with what changes cost, and the rules as it judges them."""

    scored: ScoredTraffic
    rules: Mapping[str, Evaluated]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The choice, with what it was made from; `attempts` are the confirmations in their order."""

    standards: Standards
    table: LatencyTable
    sets: tuple[ComposedSet, ...]
    contest: Contest
    choice: Choice
    attempts: tuple[Confirmation, ...] = ()

    @property
    def rows(self) -> list[int]:
        """The chosen profiles among the measured ones, in the order of the set."""
        places = {m.profile: row for row, m in enumerate(self.contest.measured)}
        return [places[m.profile] for m in self.choice.chosen.measured]

    @property
    def confirmation(self) -> Confirmation | None:
        """What confirming the chosen set gave; None where that was not done."""
        own = tuple(m.profile.opt for m in self.choice.chosen.measured)
        return next((a for a in self.attempts if a.opts == own), None)


def settle(
    measured: Sequence[MeasuredProfile],
    standards_now: Callable[[], Standards],
    settings: RecommendSettings,
    confirm: Confirm | None,
) -> Settled:
    """The set to recommend; without `confirm` nothing is built.

    Where a set's engine is off its prediction, its profiles take the times measured there and the choice is
    made again, until the chosen set has been confirmed or `MOST_CONFIRMATIONS` have: then the best of
    those is taken. The choice is made again too where an engine of several profiles was the first to tell
    what a change of profile costs; so a run that knows this from the start chooses alike.
    """
    standards = standards_now()
    settled = _chosen(measured, standards, settings)
    tried: dict[tuple[int, ...], Contender] = {}
    attempts: list[Confirmation] = []
    while confirm is not None:
        chosen = settled.choice.chosen
        attempt, curves = confirm_set(chosen, standards.scored.judges, settings, confirm)
        attempts.append(attempt)
        before, standards = standards, standards_now()
        if not is_otherwise(attempt) and standards is before:
            break
        tried[chosen.rows] = chosen
        if is_otherwise(attempt):
            measured = _with_confirmed(measured, chosen, curves, settings)
        try:
            settled = _chosen(measured, standards, settings)
        except NothingFeasible:  # as it came out a limit is broken, and nothing else keeps it either
            break
        again = settled.choice.chosen.rows
        if again in tried or len(attempts) == MOST_CONFIRMATIONS:
            settled = _one_of(settled, [tried[again]] if again in tried else list(tried.values()))
            break
    return dataclasses.replace(settled, attempts=tuple(attempts))


def _chosen(
    measured: Sequence[MeasuredProfile], standards: Standards, settings: RecommendSettings
) -> Settled:
    judges, search = standards.scored.judges, settings.search
    table = latency_table([m.curve(search.mode) for m in measured], judges.tune.histogram)
    count = min(max(MARGINAL_COUNTS, search.max_profiles), len(measured))
    sets = best_sets(table, judges.tune, count, resources_of(list(measured)))
    contest = Contest(measured, standards.scored, settings)
    choice = contest.choice(sets, standards.rules)
    return Settled(standards=standards, table=table, sets=tuple(sets), contest=contest, choice=choice)


def _with_confirmed(
    measured: Sequence[MeasuredProfile],
    chosen: Contender,
    curves: Sequence[MeasuredProfile],
    settings: RecommendSettings,
) -> list[MeasuredProfile]:
    own = [m.profile for m in chosen.measured]
    confirmed = dict(zip(own, curves, strict=True))
    mode = settings.search.mode
    return [as_confirmed(m, confirmed[m.profile], mode) if m.profile in confirmed else m for m in measured]


def _one_of(settled: Settled, tried: Sequence[Contender]) -> Settled:
    """The best of the sets that were built, as they were built; its times are those measured then."""
    known = [settled.contest.again(contender) for contender in tried]
    best = min(known, key=lambda contender: _standing(settled, contender))
    return dataclasses.replace(settled, choice=Choice(best, settled.choice.reasons))


def _standing(settled: Settled, contender: Contender) -> tuple[float, float]:
    """By which share the set breaks its worst limit, then its score; less is better."""
    judge = settled.contest.scored.judges.tune
    served_ms = judge.best_served_ms(settled.table.latency_ms[list(contender.rows)])
    assert served_ms is not None  # it was confirmed by that score
    assert contender.evaluated.tune is not None
    return float(judge.overruns(served_ms)), contender.evaluated.tune.value
