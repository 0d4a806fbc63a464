"""Reasons to doubt a recommendation, each with a next step."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.measurements.source import SourceFacts
from tuner.recommendation.recommendation import Caveat, Evaluated
from tuner.recommendation.scored import ScoredTraffic
from tuner.search.search import SearchResult
from tuner.search.study import SCORED

LARGEST_INTERPOLATED_SHARE = 0.2
LARGEST_HOLDOUT_GAP = 0.1


def caveats_of(
    scored: ScoredTraffic, chosen: Evaluated, facts: SourceFacts, found: SearchResult
) -> tuple[Caveat, ...]:
    return (
        *_of_traffic(scored),
        *_of_measuring(chosen, facts),
        *_of_changes(scored, chosen, facts),
        *_of_search(scored, chosen, found),
    )


def _of_traffic(scored: ScoredTraffic) -> Iterator[Caveat]:
    coverage = scored.coverage
    if coverage.uncovered_requests:
        done = (
            "left out of every score"
            if coverage.action == "exclude"
            else "judged at the nearest size in range"
        )
        yield Caveat(
            "uncovered",
            f"{coverage.request_share:.1%} of the requests and {coverage.work_share:.1%} of the work (sizes "
            f"from {coverage.smallest_uncovered} to {coverage.largest_uncovered}) lie outside of what was "
            f"measured or allowed; they are {done}: measure those sizes, or scale the axis",
        )
    if scored.judges.holdout is None:
        yield Caveat(
            "no_holdout",
            "the traffic has no times, so no part of it was held out and no gain is a held-out one: "
            "name a column with --time",
        )


def _of_measuring(chosen: Evaluated, facts: SourceFacts) -> Iterator[Caveat]:
    if facts.origin == "recorded":
        yield Caveat(
            "recorded",
            f"the latencies were recorded on {facts.environment.gpu} with TensorRT "
            f"{facts.environment.tensorrt}, not measured in this run: they hold for that GPU, version and "
            "model only",
        )
    if chosen.tune is not None and chosen.tune.interpolated_share > LARGEST_INTERPOLATED_SHARE:
        yield Caveat(
            "interpolated",
            f"{chosen.tune.interpolated_share:.1%} of the requests rest on latencies interpolated between "
            "measured sizes: measure the heaviest of them",
        )


def _of_changes(scored: ScoredTraffic, chosen: Evaluated, facts: SourceFacts) -> Iterator[Caveat]:
    changes = scored.judges.tune.changes
    if len(chosen.profiles) > 1 and facts.switch_ms is None and not changes.are_free:
        yield Caveat(
            "switch_not_measured",
            "what a change of profile costs is not known, since no engine of several profiles was timed; it "
            f"is charged like one of size ({changes.size_ms:.4g} ms), the least that it can be: have "
            "the set built and measured as one engine by 'tuner recommend --model' on that GPU",
        )


def _of_search(scored: ScoredTraffic, chosen: Evaluated, found: SearchResult) -> Iterator[Caveat]:
    if chosen.tune is not None and chosen.holdout is not None:
        gap = chosen.holdout.value / chosen.tune.value - 1
        if gap > LARGEST_HOLDOUT_GAP:
            yield Caveat(
                "drift",
                f"the held-out traffic costs {gap:.1%} more than the tuned part: the traffic moves, "
                "tune again soon and on a longer log",
            )
    for opt, axis in found.edges if found.is_open else ():
        yield Caveat(
            "edge",
            f"the opt {opt} lies on the edge of what was tried on the axis {axis}: a better one may lie "
            "beyond, allow it with a larger --cap or more --builds",
        )
    failed = sum(1 for trial in found.trials if trial.outcome not in (SCORED, "pruned"))
    if failed:
        yield Caveat(
            "failed_trials", f"{failed} of {len(found.trials)} trials gave no curve; see the evidence"
        )
