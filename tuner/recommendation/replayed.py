"""Scores a document on traffic: the same judges and curves, and so the same numbers, as a recommendation."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.measurements.source import ProfileSource
from tuner.recommendation.check import scored_within, uncovered_share
from tuner.recommendation.deployed import Deployed, curves_of
from tuner.recommendation.evaluate import evaluate
from tuner.recommendation.recommendation import Evaluated
from tuner.recommendation.scored import RecommendSettings, scored_traffic
from tuner.replay.coverage import Coverage
from tuner.traffic.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Replayed:
    """The scores of a document's set; `uncovered` is the share of requests outside its profiles.

    `coverage` says what of the traffic could be judged at all.
    """

    evaluated: Evaluated
    uncovered: float
    coverage: Coverage
    settings: RecommendSettings


def replay_document(
    document: Deployed, traffic: Traffic, curves: ProfileSource, settings: RecommendSettings
) -> Replayed:
    """Raises TunerError where a profile's latencies are not known or the set covers nothing."""
    scored = scored_traffic(traffic, curves, settings)
    within = scored_within(scored, document.profiles)
    name = document.document.source
    if within is None:
        raise TunerError(f"{name}: its profiles cover none of the traffic that can be judged")
    judges, mode = within.judges, settings.search.mode
    known = curves_of(document.profiles, curves, judges.tune.histogram.sizes, mode)
    if isinstance(known, str):
        raise TunerError(f"{name}: {known}; measure it, or give a file that has it with --measurements")
    evaluated = evaluate(document.profiles, known.measured, judges, mode, document.router(curves.model))
    if evaluated.tune is None:
        raise TunerError(f"{name}: some size of the traffic has no known latency; measure it first")
    share = uncovered_share(traffic, document.profiles, settings)
    return Replayed(evaluated, share, scored.coverage, settings)
