"""A profile by rule, on purpose and unmeasured: traffic in, profiles out, nothing claimed."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tuner.model import Model
from tuner.profiles.routing import RoutingTable
from tuner.profiles.rules import profiles_by_rule, split_by_rule
from tuner.recommendation.recommendation import Caveat, Evaluated, ProfileShare, Recommendation
from tuner.recommendation.scored import under_cap
from tuner.replay.coverage import coverage_of, covered_histogram
from tuner.traffic.traffic import Traffic


def recommend_by_rule(
    traffic: Traffic, model: Model | None, rule: str, *, profiles: int = 1, cap: dict[str, int] | None = None
) -> Recommendation:
    """The rule's profiles for this traffic, or one for each part of it where several are asked for."""
    inside = under_cap(traffic.histogram, cap or {})
    coverage = coverage_of(traffic, inside, "exclude")
    bounds = (traffic.histogram.smallest, traffic.histogram.largest)
    histogram = covered_histogram(traffic.histogram, inside, "exclude", bounds)
    if profiles > 1 and rule != "static":
        profile_set = split_by_rule(rule, histogram, profiles)
    else:
        profile_set = profiles_by_rule(rule, histogram, profiles)
    routing = RoutingTable(profile_set, {})
    index = routing.route(histogram.sizes)
    requests, work = traffic.requests(histogram), histogram.work * histogram.counts
    shares = tuple(
        ProfileShare(float(requests[index == i].sum() / requests.sum()), _share(work, index == i))
        for i in range(len(profile_set))
    )
    text = f"the profiles follow the rule '{rule}'; nothing was measured: give --measurements or --model"
    return Recommendation(
        decision="change",
        reason="asked for by rule",
        model=model,
        traffic=traffic,
        coverage=coverage,
        chosen=Evaluated(profiles=profile_set, tune=None, holdout=None),
        routing=routing,
        shares=shares,
        objective="none",
        weight="requests",
        by_count={},
        rules={},
        alternatives={},
        evidence=None,
        caveats=(Caveat("rule", text), *_gaps(routing)),
    )


def _share(work: NDArray[np.float64], rows: NDArray[np.bool_]) -> float:
    return float(work[rows].sum() / work.sum()) if work.sum() else 0.0


def _gaps(routing: RoutingTable) -> list[Caveat]:
    """What lies between the profiles of a one-axis set and is covered by none."""
    axes = routing.profiles.axes
    if len(axes) != 1:
        return []
    ranges = sorted((p.min.values[0], p.max.values[0]) for p in routing.profiles)
    return [
        Caveat("gap", f"{axes[0]} from {high + 1} to {low - 1} is covered by no profile")
        for (_, high), (low, _) in itertools.pairwise(ranges)
        if low > high + 1
    ]
