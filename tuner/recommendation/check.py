"""Checks the deployed set against today's traffic, from stored curves alone: no GPU, seconds.

There is drift when requests fall outside the deployed profiles, when the sizes have moved, or when a set
out of the stored curves would now save more than the margin, each beyond its noise.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import NothingFeasible
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import route_best
from tuner.recommendation.choose import allowed_counts
from tuner.recommendation.decide import Margins
from tuner.recommendation.deployed import Curves, Deployed, curves_of
from tuner.recommendation.evaluate import Judges
from tuner.recommendation.gain import Gain, gain_between
from tuner.recommendation.night import Check, LastSearch
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic, scored_traffic, under_cap
from tuner.replay.score import Judge, latency_table
from tuner.search.compose import best_sets
from tuner.search.known import resources_of
from tuner.traffic.shift import Shift, cells_of, shift_between
from tuner.traffic.traffic import Traffic

MAX_SHIFT = 0.1
"""Share of the weight that may move to other sizes before the set is searched again."""


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """What counts as drift: the margins of a decision, and how much weight may move."""

    margins: Margins = dataclasses.field(default_factory=Margins)
    max_shift: float = MAX_SHIFT


def check_deployed(
    traffic: Traffic,
    deployed: Deployed,
    stored: ProfileSource | str,
    settings: RecommendSettings,
    limits: CheckLimits,
) -> Check:
    """The check; `stored` gives the stored curves, or says why there are none."""
    searched = deployed.last_search
    shift = (
        shift_between(searched.cells, traffic, settings.weight, settings.search.seed) if searched else None
    )
    loss = stored if isinstance(stored, str) else _loss(traffic, deployed, stored, settings)
    found = Check(
        uncovered_then=searched.uncovered if searched else None,
        uncovered_now=uncovered_share(traffic, deployed.profiles, settings),
        shift=shift,
        loss=loss if isinstance(loss, Gain) else None,
        loss_unknown=loss if isinstance(loss, str) else None,
    )
    return dataclasses.replace(found, reasons=tuple(_reasons(found, limits)))


def _reasons(found: Check, limits: CheckLimits) -> Iterator[str]:
    then, margins = found.uncovered_then or 0.0, limits.margins
    if found.uncovered_now - then > margins.max_uncovered:
        yield (
            f"coverage: {found.uncovered_now:.2%} of the requests are outside the deployed profiles, "
            f"{then:.2%} were when they were chosen"
        )
    if found.shift is not None and found.shift.low > limits.max_shift:
        yield f"sizes: {_share(found.shift)} of the traffic's weight moved to other sizes"
    if found.loss is not None and found.loss.value >= margins.min_gain and found.loss.low > 0:
        yield f"loss: a set out of the stored curves would save {found.loss}"


def _share(shift: Shift) -> str:
    return f"{shift.value:.1%} ({shift.low:.1%} to {shift.high:.1%})"


def uncovered_share(traffic: Traffic, profiles: ProfileSet, settings: RecommendSettings) -> float:
    """Share of the requests outside the profiles; those above a cap are left out by wish and do not count."""
    histogram = traffic.histogram.where(under_cap(traffic.histogram, settings.cap))
    if len(histogram) == 0:
        return 0.0
    requests = traffic.requests(histogram)
    outside = ~profiles.covers_rows(histogram.sizes)
    return float(requests[outside].sum() / requests.sum())


def last_search_of(
    traffic: Traffic,
    profiles: ProfileSet,
    settings: RecommendSettings,
    stored: tuple[int, int],
    wishes: str = "",
) -> LastSearch:
    """The record of a search tonight; `stored` counts the builds and measurements in the store."""
    histogram = traffic.histogram
    return LastSearch(
        cells=cells_of(histogram, traffic.requests(histogram)),
        uncovered=uncovered_share(traffic, profiles, settings),
        settings=settings_digest(settings, wishes),
        builds=stored[0],
        measurements=stored[1],
    )


def settings_digest(settings: RecommendSettings, wishes: str = "") -> str:
    """The same for the same wishes: another objective or limit is a reason to search again."""
    return hashlib.sha256(f"{settings!r} {wishes}".encode()).hexdigest()[:16]


def scored_within(scored: ScoredTraffic, profiles: ProfileSet) -> ScoredTraffic | None:
    """The judged traffic that the profiles cover, so that sets are compared on the same requests."""
    judges, tune_blocks = scored.judges, scored.tune_blocks
    tune = _within(judges.tune, tune_blocks, profiles)
    if tune is None:
        return None
    holdout = _within(judges.holdout, scored.holdout_blocks, profiles) if judges.holdout else None
    return dataclasses.replace(
        scored,
        judges=Judges(tune[0], holdout[0] if holdout else None),
        tune_blocks=tune[1],
        holdout_blocks=holdout[1] if holdout else None,
    )


def _within(
    judge: Judge, blocks: NDArray[np.float64] | None, profiles: ProfileSet
) -> tuple[Judge, NDArray[np.float64] | None] | None:
    inside = profiles.covers_rows(judge.histogram.sizes)
    if not inside.any():
        return None
    kept = dataclasses.replace(
        judge, histogram=judge.histogram.where(inside), requests=judge.requests[inside]
    )
    return kept, None if blocks is None else blocks[:, inside]


def _loss(
    traffic: Traffic, deployed: Deployed, stored: ProfileSource, settings: RecommendSettings
) -> Gain | str:
    """What the best set out of the stored curves saves: chosen on the tuned part, judged on the holdout."""
    try:
        scored = scored_within(scored_traffic(traffic, stored, settings), deployed.profiles)
        if scored is None:
            return "the deployed set covers none of the traffic that can be judged"
        return _best_against(deployed, stored, scored, settings)
    except NothingFeasible as error:
        return str(error)


def _best_against(
    deployed: Deployed, stored: ProfileSource, scored: ScoredTraffic, settings: RecommendSettings
) -> Gain | str:
    judges = scored.judges
    mode, sizes = settings.search.mode, judges.tune.histogram.sizes
    own = curves_of(deployed.profiles, stored, sizes, mode)
    if isinstance(own, str):
        return own
    outcomes = [stored.measure(candidate, sizes) for candidate in stored.candidates() or ()]
    measured = [one for one in outcomes if isinstance(one, MeasuredProfile)]
    table = latency_table([one.curve(mode) for one in measured], judges.tune.histogram)
    limit, exactly = settings.search.max_profiles, settings.profiles
    sets = best_sets(table, judges.tune, exactly or limit, resources_of(measured))
    counts = allowed_counts(sets, limit, exactly=exactly)
    chosen = min((s for s in sets if len(s.rows) in counts), key=lambda s: s.value)
    best = Curves(tuple(measured[row] for row in chosen.rows), mode)
    profiles = ProfileSet(tuple(one.profile for one in best.measured))
    judge, blocks = scored.deciding
    latency = latency_table([one.curve(mode) for one in best.measured], judge.histogram).latency_ms
    index = route_best(profiles, judge.histogram.sizes, latency)
    new = best.served(profiles, judge, lambda rows: index)
    old = own.served(deployed.profiles, judge, deployed.router(stored.model))
    if old is None or new is None:
        return "some size of the traffic has no stored latency"
    return gain_between(old, new, judge, settings.search.seed, blocks)
