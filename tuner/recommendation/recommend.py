"""The main job: from traffic and a source of curves to a recommendation."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.routing import RoutingTable
from tuner.profiles.rules import RULE_NAMES, profiles_by_rule
from tuner.recommendation.caveats import caveats_of
from tuner.recommendation.confirm import Confirm, confirmation_caveat
from tuner.recommendation.evaluate import evaluate, evaluate_rules
from tuner.recommendation.explain import explain
from tuner.recommendation.pareto import pareto_front
from tuner.recommendation.recommendation import (
    Evaluated,
    Evidence,
    ProfileShare,
    Recommendation,
)
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic, scored_traffic
from tuner.recommendation.settle import Settled, Standards, settle
from tuner.replay.changes import FREE, changes_of
from tuner.replay.score import Judge
from tuner.search.policies import PolicyProblem, best_by_policy, router
from tuner.search.search import Problem, SearchResult, SearchSettings, search
from tuner.search.space import Space, space_of_candidates, space_of_traffic
from tuner.search.study import SCORED, Trial
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic


def recommend(  # noqa: PLR0913  (the sixth is keyword-only)
    traffic: Traffic,
    source: ProfileSource,
    settings: RecommendSettings,
    storage_url: str,
    progress: Callable[[Trial, int], None] | None = None,
    *,
    confirm: Confirm | None = None,
) -> Recommendation:
    """Search, choose, check on the holdout and compare with every rule; confirm where that can be done.

    The search goes by latencies alone: what changes cost is known better with each engine that is timed, and
    trials judged by it would depend on when they were. Sets are charged for them after the search.
    Raises NothingFeasible where nothing is covered or no set serves the traffic within the limits,
    TunerError where axes of traffic and measurements differ.
    """
    if traffic.axes != source.model.axes:
        raise TunerError(
            f"traffic has the axes {list(traffic.axes)}, the measurements {list(source.model.axes)}; "
            "map the log's columns with --axis"
        )
    scored = scored_traffic(traffic, source, settings)
    limit = settings.search.max_profiles
    found = search(
        _problem(source, scored, settings), _searching(source, settings), source, storage_url, progress
    )
    # After the search: where every profile costs a build, the rules get what is left of the budget.
    first = Standards(scored, evaluate_rules(source, scored.judges, settings.search.mode, limit))
    candidates = _with_rules(found.measured, first.rules, source, scored)
    settled = settle(candidates, _standards(first, source, settings), settings, confirm)
    scored, rules = settled.standards.scored, settled.standards.rules
    judges, table = scored.judges, settled.table
    chosen, measured = settled.choice.chosen, settled.contest.measured
    opts = [m.profile.opt for m in measured]
    doubts = [confirmation_caveat(settled.confirmation)]
    return Recommendation(
        decision="change",
        reason="no deployed set",
        model=source.model,
        traffic=traffic,
        coverage=scored.coverage,
        chosen=chosen.evaluated,
        interval=settled.contest.interval(chosen),
        routing=chosen.routing,
        shares=_shares(chosen.routing, judges.tune),
        objective=settings.objective,
        weight=settings.weight,
        by_count={len(s.rows): s.value for s in settled.sets},
        rules=rules,
        alternatives=_alternatives(measured, source, scored, settings),
        explanation=explain(table, judges.tune, settled.rows, opts, settled.choice.reasons),
        pareto=pareto_front(table, judges.tune, measured, limit) if settings.pareto else None,
        evidence=_evidence(source, found, settings, settled),
        caveats=(
            *caveats_of(scored, chosen.evaluated, source.facts, found),
            *(d for d in doubts if d is not None),
        ),
    )


def _problem(source: ProfileSource, scored: ScoredTraffic, settings: RecommendSettings) -> Problem:
    judge, limit = scored.judges.tune.charging(FREE), settings.search.max_profiles
    histogram = judge.histogram
    candidates = source.candidates()
    if candidates is None:
        space = space_of_traffic(
            histogram,
            scored.bounds,
            model=source.model,
            cap=settings.cap,
            also=_opts_of_rules(histogram, limit),
        )
    else:
        space = space_of_candidates(candidates, *scored.bounds)
    # Our own sampler knows better where to begin than the rules do.
    first = () if settings.search.sampler == "curves" else _first_opts(histogram, limit, space)
    return Problem(space, judge, first, source.model.content_hash or "")


def _standards(
    first: Standards, source: ProfileSource, settings: RecommendSettings
) -> Callable[[], Standards]:
    """Gives what to judge by under what changes are known to cost at the time; the same while that stays."""
    known = [first]

    def now() -> Standards:
        changes = changes_of(source.facts, settings.search.mode)
        if changes != known[-1].scored.judges.tune.changes:
            scored, search = first.scored.charging(changes), settings.search
            rules = evaluate_rules(source, scored.judges, search.mode, search.max_profiles)
            known.append(Standards(scored, rules))
        return known[-1]

    return now


def _searching(source: ProfileSource, settings: RecommendSettings) -> SearchSettings:
    """Where curves are only looked up, every candidate is: the model has nothing to save."""
    return dataclasses.replace(settings.search, stops_early=source.candidates() is None)


def _opts_of_rules(histogram: SizeHistogram, limit: int) -> tuple[Size, ...]:
    return tuple(p.opt for name in RULE_NAMES for p in profiles_by_rule(name, histogram, limit))


def _first_opts(histogram: SizeHistogram, limit: int, space: Space) -> tuple[Size, ...]:
    """The opts of the rules, or the nearest that can be had: a search starts where people start."""
    wanted = _opts_of_rules(histogram, limit)
    return tuple(dict.fromkeys(space.nearest(opt.values, space.opts) for opt in wanted))


def _with_rules(
    measured: Sequence[MeasuredProfile],
    rules: Mapping[str, Evaluated],
    source: ProfileSource,
    scored: ScoredTraffic,
) -> list[MeasuredProfile]:
    """What the search measured, and the profiles of rules that were measured for comparison."""
    result = list(measured)
    known = {m.profile.opt for m in result}
    for rule in rules.values():
        profile = rule.profiles.profiles[-1]
        if rule.tune is None or rule.judged_at is not None or profile.opt in known:
            continue
        outcome = source.measure(profile, scored.judges.tune.histogram.sizes)  # known to the source
        if isinstance(outcome, MeasuredProfile) and all(outcome.profile.covers(b) for b in scored.bounds):
            known.add(profile.opt)
            result.append(outcome)
    return result


def _alternatives(
    measured: Sequence[MeasuredProfile],
    source: ProfileSource,
    scored: ScoredTraffic,
    settings: RecommendSettings,
) -> dict[str, Evaluated]:
    """The best set under each routing policy that is not `best`."""
    problem = PolicyProblem(
        measured=tuple(measured),
        judge=scored.judges.tune,
        mode=settings.search.mode,
        model=source.model,
        bounds=scored.bounds,
        max_profiles=settings.search.max_profiles,
    )
    return {
        policy: evaluate(
            routed.profiles,
            routed.measured,
            scored.judges,
            settings.search.mode,
            router(policy, routed.profiles, source.model),
        )
        for policy, routed in best_by_policy(problem).items()
    }


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
    settled: Settled,
) -> Evidence:
    failed = Counter(trial.outcome for trial in found.trials if trial.outcome != SCORED)
    return Evidence(
        facts=source.facts,
        mode=settings.search.mode.value,
        seed=settings.search.seed,
        trial_count=len(found.trials),
        trials=found.trials,
        failed_trials=dict(sorted(failed.items())),
        sampler=settings.search.sampler,
        stopped=found.stopped,
        gap=found.gap,
        confirmation=settled.confirmation,
        attempts=settled.attempts,
    )
