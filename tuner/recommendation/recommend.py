"""The main job: from traffic and a source of curves to a recommendation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.source import ProfileSource
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import RoutingTable, route_best
from tuner.profiles.rules import RULE_NAMES, profiles_by_rule
from tuner.recommendation.caveats import caveats_of
from tuner.recommendation.choose import choose_count, final_ranges
from tuner.recommendation.confirm import Confirm, confirm_choice, confirmation_caveat
from tuner.recommendation.evaluate import evaluate, evaluate_rules
from tuner.recommendation.recommendation import (
    Confirmation,
    Evaluated,
    Evidence,
    ProfileShare,
    Recommendation,
)
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic, scored_traffic
from tuner.replay.score import Judge, latency_table
from tuner.search.compose import ComposedSet, best_sets
from tuner.search.search import Problem, SearchResult, search
from tuner.search.space import Space, space_of_candidates, space_of_traffic
from tuner.search.study import Trial
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

LISTED_SIZES = 2_000
"""Sizes that a routing table lists at most, the heaviest ones."""
MARGINAL_COUNTS = 6
"""Up to how many profiles the gain of one more is shown."""


def recommend(
    traffic: Traffic,
    source: ProfileSource,
    settings: RecommendSettings,
    storage_url: str,
    progress: Callable[[Trial, int], None] | None = None,
    confirm: Confirm | None = None,
) -> Recommendation:
    """Search, choose, check on the holdout and compare with every rule; confirm where that can be done.

    Raises NothingFeasible where nothing is covered or no set serves the traffic, TunerError where axes of
    traffic and measurements differ.
    """
    if traffic.axes != source.model.axes:
        raise TunerError(
            f"traffic has the axes {list(traffic.axes)}, the measurements {list(source.model.axes)}; "
            "map the log's columns with --axis"
        )
    scored = scored_traffic(traffic, source, settings)
    judges = scored.judges
    space = _space(source, scored)
    mode, limit = settings.search.mode, settings.search.max_profiles
    first_opts = _first_opts(judges.tune.histogram, limit, space)
    problem = Problem(space, judges.tune, first_opts, source.model.content_hash or "")
    found = search(problem, settings.search, source, storage_url, progress)
    # After the search: where every profile costs a build, the rules get what is left of the budget.
    rules = evaluate_rules(source, judges, mode, limit)
    table = latency_table([m.curve(mode) for m in found.measured], judges.tune.histogram)
    sets = best_sets(table, judges.tune, min(MARGINAL_COUNTS, len(found.measured)))
    composed = choose_count(sets, limit, exactly=settings.profiles)
    chosen, routing = _evaluated_set(composed, found, scored, settings)
    alternatives = {}
    if len(sets[0].rows) == 1:
        alternatives["profile_zero"] = _evaluated_set(sets[0], found, scored, settings)[0]
    confirmation = None if confirm is None else confirm_choice(chosen, routing, judges, mode, confirm)
    doubts = [confirmation_caveat(confirmation)]
    return Recommendation(
        decision="change",
        reason="no deployed set",
        model=source.model,
        traffic=traffic,
        coverage=scored.coverage,
        chosen=chosen,
        routing=routing,
        shares=_shares(routing, judges.tune),
        objective=settings.objective,
        weight=settings.weight,
        by_count={len(s.rows): s.value for s in sets},
        rules=rules,
        alternatives=alternatives,
        evidence=_evidence(source, found, settings, confirmation),
        caveats=(*caveats_of(scored, chosen, source.facts, found), *(d for d in doubts if d is not None)),
    )


def _space(source: ProfileSource, scored: ScoredTraffic) -> Space:
    candidates = source.candidates()
    if candidates is None:
        return space_of_traffic(scored.judges.tune.histogram, scored.bounds, model=source.model)
    return space_of_candidates(candidates, *scored.bounds)


def _first_opts(histogram: SizeHistogram, limit: int, space: Space) -> tuple[Size, ...]:
    """The opts of the rules, or the nearest that can be had: a search starts where people start."""
    wanted = (p.opt for name in RULE_NAMES for p in profiles_by_rule(name, histogram, limit))
    return tuple(dict.fromkeys(space.nearest(opt.values, space.opts) for opt in wanted))


def _evaluated_set(
    composed: ComposedSet, found: SearchResult, scored: ScoredTraffic, settings: RecommendSettings
) -> tuple[Evaluated, RoutingTable]:
    """The set with its final ranges and routing table, scored as it will be served."""
    measured = sorted(
        (found.measured[row] for row in composed.rows),
        key=lambda m: (m.profile.opt.work, m.profile.opt.values),
    )
    judge, mode = scored.judges.tune, settings.search.mode
    histogram = judge.histogram
    whole = ProfileSet(tuple(m.profile for m in measured))
    table = latency_table([m.curve(mode) for m in measured], histogram)
    served_by = route_best(whole, histogram.sizes, table.latency_ms)
    profiles = final_ranges(whole.profiles, histogram.sizes, served_by, scored.bounds)
    listed = {histogram.size(row): int(served_by[row]) for row in sorted(histogram.heaviest(LISTED_SIZES))}
    routing = RoutingTable(profiles, listed)
    return evaluate(profiles, measured, scored.judges, mode, routing.route), routing


def _shares(routing: RoutingTable, judge: Judge) -> tuple[ProfileShare, ...]:
    histogram = judge.histogram
    index = routing.route(histogram.sizes)
    work = histogram.work * histogram.counts
    return tuple(
        ProfileShare(
            requests=float(judge.requests[index == i].sum() / judge.requests.sum()),
            work=float(work[index == i].sum() / work.sum()) if work.sum() else 0.0,
        )
        for i in range(len(routing.profiles))
    )


def _evidence(
    source: ProfileSource,
    found: SearchResult,
    settings: RecommendSettings,
    confirmation: Confirmation | None,
) -> Evidence:
    failed = Counter(trial.outcome for trial in found.trials if trial.value is None)
    return Evidence(
        facts=source.facts,
        mode=settings.search.mode.value,
        seed=settings.search.seed,
        trial_count=len(found.trials),
        failed_trials=dict(sorted(failed.items())),
        stopped=found.stopped,
        confirmation=confirmation,
    )
