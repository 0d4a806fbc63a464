"""Where a fleet's next GPU hour goes: to the job whose further builds are expected to save most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.recommendation.recommendation import Recommendation
from tuner.search.stopping import BUILDS_SPENT

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a job has come.

    `traffic_s` is GPU seconds a day that its traffic takes with the best set so far, `gap` the share of it
    that the best further build is expected to save. `spent_s` are GPU seconds of its builds and timings.
    """

    name: str
    kind: str
    traffic_s: float
    gap: float
    build_count: int
    spent_s: float
    wants_more: bool

    @property
    def expected_s(self) -> float:
        """GPU seconds a day that the best further build is expected to save."""
        return self.traffic_s * self.gap if self.wants_more else 0.0


def traffic_seconds(found: Recommendation) -> float:
    """GPU seconds a day of the traffic with the chosen set; a log without times counts as one day."""
    score = found.chosen.tune
    if score is None:
        return 0.0
    traffic = found.traffic
    requests = float(traffic.requests(traffic.histogram).sum())
    span_s = (traffic.end - traffic.start).total_seconds() if traffic.start and traffic.end else 0.0
    return score.gpu_time_ms / 1000 * requests * _DAY_S / (span_s or _DAY_S)


def standing(name: str, kind: str, found: Recommendation, spent: tuple[int, float]) -> Standing:
    """The standing of a job after a search; `spent` are its builds and their GPU seconds."""
    evidence = found.evidence
    stopped = evidence is not None and evidence.stopped
    return Standing(
        name=name,
        kind=kind,
        traffic_s=traffic_seconds(found),
        gap=(evidence.gap or 0.0) if evidence is not None else 0.0,
        build_count=spent[0],
        spent_s=spent[1],
        wants_more=stopped == BUILDS_SPENT,
    )


def next_jobs(standings: Sequence[Standing]) -> list[str]:
    """For each kind of GPU the job that is expected to gain most; none where nothing more is to be had.

    Kinds do not compete: the GPUs of one cannot build for another.
    """
    best: dict[str, Standing] = {}
    for one in standings:
        known = best.get(one.kind)
        if one.expected_s > 0 and (known is None or one.expected_s > known.expected_s):
            best[one.kind] = one
    return [one.name for one in sorted(best.values(), key=lambda s: (-s.expected_s, s.name))]


def builds_within(left_s: float, standing: Standing, wanted: int) -> int:
    """As many of the wanted builds as the GPU seconds that are left allow, by what builds took so far."""
    if standing.build_count == 0 or standing.spent_s <= 0:
        return wanted
    return min(wanted, int(left_s / (standing.spent_s / standing.build_count)))


def shares_of(left_s: float, names: Sequence[str], standings: Mapping[str, Standing]) -> dict[str, float]:
    """What each of several jobs may spend at once, in proportion to what it is expected to gain."""
    total = sum(standings[name].expected_s for name in names)
    return {name: left_s * standings[name].expected_s / total for name in names}
