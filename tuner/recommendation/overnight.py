"""A night with a deployed set: check first, search only where something is new, then keep or change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.measurements.source import ProfileSource, SourceFacts
from tuner.measurements.store import same_hash
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.caveats import caveats_of
from tuner.recommendation.check import (
    CheckLimits,
    check_deployed,
    last_search_of,
    scored_within,
    settings_digest,
    uncovered_share,
)
from tuner.recommendation.decide import Case, decide
from tuner.recommendation.deployed import Curves, Deployed, curves_of, same_opts
from tuner.recommendation.evaluate import evaluate
from tuner.recommendation.gain import Gain, gain_between
from tuner.recommendation.night import Check, GainOver, NightRecord
from tuner.recommendation.recommendation import Evaluated, Evidence, ProfileShare, Recommendation
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic, scored_traffic
from tuner.replay.score import Judge
from tuner.search.search import SearchResult
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.shift import Cells, cells_of
from tuner.traffic.traffic import Traffic

MEMORY = 0.8
"""Weight of a night's traffic beside that of the night after it, when they are taken together."""

_NO_SEARCH = SearchResult(
    measured=(), trials=(), stopped="nothing was searched", gap=None, edges=(), is_open=False
)

Search = Callable[[], tuple[Recommendation, ProfileSource]]
"""Runs the search, which may build engines, and gives its result with the source of its curves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a night starts from.

    `stored` gives the stored curves without a GPU, or says why there are none. `stored_counts` are the
    builds and measurements in the store now. `wishes` says in a text what else a change of which is a
    reason to search: builder options, GPU and driver. `is_forced` searches whatever the check says.
    """

    deployed: Deployed | None
    stored: ProfileSource | str
    stored_counts: Callable[[], tuple[int, int]]
    limits: CheckLimits = dataclasses.field(default_factory=CheckLimits)
    wishes: str = ""
    is_forced: bool = False


def recommend_overnight(
    traffic: Traffic, night: Night, settings: RecommendSettings, search: Search
) -> Recommendation:
    """The recommendation of a night; without drift and new evidence the deployed set stays unsearched."""
    deployed = night.deployed
    if deployed is None:
        found, _ = search()
        return _with_night(found, night, settings, NightParts())
    check = check_deployed(traffic, deployed, night.stored, settings, night.limits)
    news = what_is_new(deployed, night, settings)
    if not (check.is_drift or news or night.is_forced) and not isinstance(night.stored, str):
        return _kept_unsearched(traffic, deployed, night.stored, settings, check)
    found, source = search()
    return _decided(found, source, night, settings, NightParts(check, deployed))


@dataclass(frozen=True, slots=True)
class NightParts:
    """The check and the deployed set, where there is one."""

    check: Check | None = None
    deployed: Deployed | None = None


def what_is_new(deployed: Deployed, night: Night, settings: RecommendSettings) -> str | None:
    """Why the last search does not hold any more, None where nothing has changed since."""
    searched, stored = deployed.last_search, night.stored
    if searched is None:
        return "the deployed document does not say what its search saw"
    if isinstance(stored, str):
        return f"there are no stored curves ({stored})"
    if is_other_model(deployed, stored):
        return "the deployed set was tuned for another model"
    if searched.settings != settings_digest(settings, night.wishes):
        return "what is wanted has changed since the last search"
    if (searched.builds, searched.measurements) != night.stored_counts():
        return "there are new builds or measurements since the last search"
    return None


def is_other_model(deployed: Deployed, source: ProfileSource) -> bool:
    then, now = deployed.document.model_hash, source.model.content_hash
    return bool(then and now) and not same_hash(str(then), str(now))


def _kept_unsearched(
    traffic: Traffic,
    deployed: Deployed,
    stored: ProfileSource,
    settings: RecommendSettings,
    check: Check,
) -> Recommendation:
    assert deployed.last_search is not None  # else there would have been something new
    scored = scored_traffic(traffic, stored, settings)
    facts = stored.facts
    within = scored_within(scored, deployed.profiles)
    chosen, shares = _evaluated(deployed, stored, within, settings)
    return Recommendation(
        decision="keep",
        reason="no drift and nothing new in the store, so nothing was searched (--force searches)",
        model=stored.model,
        traffic=traffic,
        coverage=scored.coverage,
        chosen=chosen,
        routing=deployed.routing,
        shares=shares,
        objective=settings.objective,
        weight=settings.weight,
        by_count={},
        rules={},
        alternatives=_alternatives(deployed),
        evidence=_evidence_without_search(facts, settings),
        caveats=caveats_of(scored, chosen, facts, _NO_SEARCH),
        policy=deployed.document.policy,
        night=NightRecord(
            last_search=deployed.last_search, recent=recent_traffic(traffic, deployed), check=check
        ),
    )


def _evidence_without_search(facts: SourceFacts, settings: RecommendSettings) -> Evidence:
    return Evidence(
        facts=facts,
        mode=settings.search.mode.value,
        seed=settings.search.seed,
        trial_count=0,
        failed_trials={},
        stopped=_NO_SEARCH.stopped,
    )


def _decided(
    found: Recommendation, source: ProfileSource, night: Night, settings: RecommendSettings, parts: NightParts
) -> Recommendation:
    deployed, traffic = parts.deployed, found.traffic
    assert deployed is not None
    within = scored_within(scored_traffic(traffic, source, settings), deployed.profiles)
    gain, contended, unjudged = _compared(found, deployed, source, within, settings)
    newly_covered = uncovered_share(traffic, deployed.profiles, settings) - uncovered_share(
        traffic, found.chosen.profiles, settings
    )
    case = Case(
        is_same=same_opts(found.chosen.profiles, deployed.profiles) and newly_covered <= 0,
        tune=gain.tune,
        holdout=gain.holdout,
        recent=gain.recent,
        newly_covered=newly_covered,
        contended=contended,
        other_model=is_other_model(deployed, source),
        unjudged=unjudged,
    )
    decision = decide(case, night.limits.margins)
    evaluated, shares = _evaluated(deployed, source, within, settings)
    with_gain = dataclasses.replace(found, decision=decision.decision, reason=decision.reason)
    if decision.decision == "change":
        changed = dataclasses.replace(with_gain, deployed=evaluated)
        return _with_night(changed, night, settings, parts, gain)
    kept = dataclasses.replace(
        with_gain,
        chosen=evaluated,
        candidate=found.chosen,
        routing=deployed.routing,
        policy=deployed.document.policy,
        shares=shares,
        alternatives=_alternatives(deployed),
    )
    return _with_night(kept, night, settings, parts, gain)


def _compared(
    found: Recommendation,
    deployed: Deployed,
    source: ProfileSource,
    scored: ScoredTraffic | None,
    settings: RecommendSettings,
) -> tuple[GainOver, float, str]:
    """Gains over the deployed set, the disturbed share of what they rest on, and why there are none."""
    none = GainOver()
    if scored is None:
        return none, 0.0, "it covers none of the traffic that can be judged"
    judges = scored.judges
    sizes, mode = judges.tune.histogram.sizes, settings.search.mode
    old = curves_of(deployed.profiles, source, sizes, mode)
    new = curves_of(found.chosen.profiles, source, sizes, mode)
    if isinstance(old, str) or isinstance(new, str):
        return none, 0.0, old if isinstance(old, str) else str(new)

    def gain(judge: Judge | None, blocks: NDArray[np.float64] | None = None) -> Gain | None:
        if judge is None:
            return None
        before = old.served(deployed.profiles, judge, deployed.router(source.model))
        after = new.served(found.chosen.profiles, judge, found.routing.route)
        if before is None or after is None:
            return None
        return gain_between(before, after, judge, settings.search.seed, blocks)

    contended = max(old.contended_share, new.contended_share)
    recent = gain(_judge_of_recent(recent_traffic(found.traffic, deployed), judges.tune, deployed.profiles))
    tune = gain(judges.tune, scored.tune_blocks)
    gains = GainOver(tune, gain(judges.holdout, scored.holdout_blocks), recent)
    return gains, contended, "a size has no latency"


def recent_traffic(traffic: Traffic, deployed: Deployed | None) -> Cells:
    """The traffic of the last nights together with tonight's."""
    tonight = cells_of(traffic.histogram, traffic.requests(traffic.histogram))
    if deployed is None or deployed.recent is None or deployed.recent.axes != tonight.axes:
        return tonight
    return deployed.recent.followed_by(tonight, MEMORY)


def _judge_of_recent(recent: Cells, tonight: Judge, profiles: ProfileSet) -> Judge | None:
    """A judge on the cells' upper ends, moved into the range of tonight's sizes where they lie beyond it."""
    low, high = tonight.histogram.sizes.min(axis=0), tonight.histogram.sizes.max(axis=0)
    sizes = np.clip(recent.sizes, low, high)
    inside = profiles.covers_rows(sizes)
    if not inside.any():
        return None
    counts = np.maximum(1, np.round(recent.counts[inside])).astype(np.int64)
    histogram = SizeHistogram(recent.axes, sizes[inside], counts)
    places = {tuple(size): row for row, size in enumerate(histogram.sizes.tolist())}
    requests = np.zeros(len(histogram))
    np.add.at(requests, [places[tuple(s)] for s in sizes[inside].tolist()], recent.requests[inside])
    return dataclasses.replace(tonight, histogram=histogram, requests=requests)


def _evaluated(
    deployed: Deployed, source: ProfileSource, scored: ScoredTraffic | None, settings: RecommendSettings
) -> tuple[Evaluated, tuple[ProfileShare, ...]]:
    """The deployed set on the sizes that it covers, and what each of its profiles serves."""
    profiles = deployed.profiles
    nothing = tuple(ProfileShare(0.0, 0.0) for _ in profiles)
    if scored is None:
        return Evaluated(profiles=profiles, tune=None, holdout=None, reason="it covers none"), nothing
    judges = scored.judges
    router = deployed.router(source.model)
    shares = _shares(router(judges.tune.histogram.sizes), judges.tune, len(profiles))
    curves = curves_of(profiles, source, judges.tune.histogram.sizes, settings.search.mode)
    if not isinstance(curves, Curves):
        return Evaluated(profiles=profiles, tune=None, holdout=None, reason=curves), shares
    return evaluate(profiles, curves.measured, judges, curves.mode, router), shares


def _shares(index: NDArray[np.int64], judge: Judge, count: int) -> tuple[ProfileShare, ...]:
    work = judge.histogram.work * judge.histogram.counts
    return tuple(
        ProfileShare(
            requests=float(judge.requests[index == i].sum() / judge.requests.sum()),
            work=float(work[index == i].sum() / work.sum()) if work.sum() else 0.0,
        )
        for i in range(count)
    )


def _alternatives(deployed: Deployed) -> dict[str, Evaluated]:
    """The deployed document's own: an export of a kept set must not change either."""
    return {
        policy: Evaluated(profiles=profiles, tune=None, holdout=None)
        for policy, profiles in deployed.document.alternatives.items()
    }


def _with_night(
    found: Recommendation,
    night: Night,
    settings: RecommendSettings,
    parts: NightParts,
    gain: GainOver | None = None,
) -> Recommendation:
    """The result of a search with the record that later nights are compared with."""
    record = NightRecord(
        last_search=last_search_of(
            found.traffic, found.chosen.profiles, settings, night.stored_counts(), night.wishes
        ),
        recent=recent_traffic(found.traffic, parts.deployed),
        check=parts.check,
        gain=gain,
    )
    return dataclasses.replace(found, night=record)
