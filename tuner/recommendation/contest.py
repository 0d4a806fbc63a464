"""The contest: who may be recommended, judged on traffic that the search did not see where there is any."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from tuner.measurements.measurement import Mode
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import RoutingTable, route_best
from tuner.recommendation.blocks import recent
from tuner.recommendation.choose import Choice, Contender, allowed_counts, choose, final_ranges
from tuner.recommendation.evaluate import evaluate
from tuner.recommendation.gain import Gain, Served, gain_between, interval_of
from tuner.recommendation.recommendation import Evaluated
from tuner.recommendation.scored import RecommendSettings, ScoredTraffic
from tuner.replay.score import Judge, latency_table
from tuner.search.compose import ComposedSet, best_set
from tuner.search.known import resources_of

LISTED_SIZES = 2_000
"""Sizes that a routing table lists at most, the heaviest ones."""


class Contest:
    """The measured profiles and the traffic that decides between sets of them."""

    def __init__(
        self, measured: Sequence[MeasuredProfile], scored: ScoredTraffic, settings: RecommendSettings
    ) -> None:
        self.measured = tuple(measured)
        self.scored = scored
        self.settings = settings
        self._judge, self._blocks = scored.deciding

    @property
    def mode(self) -> Mode:
        return self.settings.search.mode

    def choice(self, sets: Sequence[ComposedSet], rules: Mapping[str, Evaluated]) -> Choice:
        """The set to recommend of the best ones by number, of those of late traffic, and of the rules."""
        search = self.settings.search
        counts = allowed_counts(sets, search.max_profiles, exactly=self.settings.profiles)
        by_rows = {len(s.rows): s.rows for s in sets}
        best = {count: self._contender(f"the best set of {count}", by_rows[count]) for count in counts}
        by_count = {count: contender for count, contender in best.items() if contender is not None}
        others = [] if self.scored.judges.holdout is None else self._others(counts, rules)
        return choose(by_count, others, self.gain)

    def gain(self, old: Contender, new: Contender) -> Gain:
        """What the new set saves on the traffic that decides."""
        return gain_between(old.served, new.served, self._judge, self.settings.search.seed, self._blocks)

    def interval(self, chosen: Contender) -> tuple[float, float]:
        """Where the objective in ms lies in 95 % of other draws of the traffic and builds."""
        return interval_of(chosen.served, self._judge, self.settings.search.seed, self._blocks)

    def again(self, contender: Contender) -> Contender:
        """The same set, ranges and routing with the times that this contest knows."""
        by_profile = {m.profile: m for m in self.measured}
        measured = tuple(by_profile[m.profile] for m in contender.measured)
        routing = contender.routing
        served = _served(routing, measured, self._judge, self.mode)
        assert served is not None  # confirmed times are added to those there were
        evaluated = evaluate(
            contender.evaluated.profiles, measured, self.scored.judges, self.mode, routing.route
        )
        return dataclasses.replace(contender, measured=measured, evaluated=evaluated, served=served)

    def _others(self, counts: Sequence[int], rules: Mapping[str, Evaluated]) -> list[Contender]:
        """Sets that only held-out traffic can speak for: tuned for the latest of the rest, or by rule."""
        late = recent(self.scored.judges.tune, self.scored.tune_blocks)
        found = []
        if late is not None:
            table = latency_table([m.curve(self.mode) for m in self.measured], late.histogram)
            resources = resources_of(list(self.measured))
            for count in counts:
                composed = best_set(table, late, count, resources)
                if composed is not None and composed.overrun <= 0:
                    found.append(self._contender(f"the set of {count} for late traffic", composed.rows))
        if 1 in counts and not self.settings.slos:
            places = {m.profile.opt: row for row, m in enumerate(self.measured)}
            for name, rule in rules.items():
                opts = [profile.opt for profile in rule.profiles]
                if rule.judged_at is None and len(opts) == 1 and opts[0] in places:
                    found.append(self._contender(f"rule {name}", (places[opts[0]],)))
        return [contender for contender in found if contender is not None]

    def _contender(self, name: str, rows: Sequence[int]) -> Contender | None:
        """The set with its final ranges and routing table, scored as it will be served."""
        measured = sorted(
            (self.measured[row] for row in rows), key=lambda m: (m.profile.opt.work, m.profile.opt.values)
        )
        histogram = self.scored.judges.tune.histogram
        whole = ProfileSet(tuple(m.profile for m in measured))
        curves = [m.curve(self.mode) for m in measured]
        served_by = route_best(whole, histogram.sizes, latency_table(curves, histogram).latency_ms)
        profiles = final_ranges(whole.profiles, histogram.sizes, served_by, self.scored.bounds)
        heaviest = sorted(histogram.heaviest(LISTED_SIZES))
        routing = RoutingTable(profiles, {histogram.size(row): int(served_by[row]) for row in heaviest})
        evaluated = evaluate(profiles, measured, self.scored.judges, self.mode, routing.route)
        served = _served(routing, measured, self._judge, self.mode)
        if served is None:
            return None
        return Contender(
            name=name,
            rows=tuple(sorted(rows)),
            measured=tuple(measured),
            evaluated=evaluated,
            routing=routing,
            served=served,
        )


def _served(
    routing: RoutingTable, measured: Sequence[MeasuredProfile], judge: Judge, mode: Mode
) -> Served | None:
    """How the set serves the judge's sizes, None where it has no time for one of them."""
    index = routing.route(judge.histogram.sizes)
    table = latency_table([m.curve(mode) for m in measured], judge.histogram)
    latency = table.latency_ms[index, np.arange(len(index))]
    if (index < 0).any() or not np.isfinite(latency).all():
        return None
    return Served(latency, tuple(m.profile.opt for m in measured), index)
