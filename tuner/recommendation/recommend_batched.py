"""A recommendation for single requests behind a batcher: the set that fits the sizes which it makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.errors import NothingFeasible
from tuner.measurements.source import FailedProfile, MeasuredProfile, ProfileSource, SourceFacts, Stop
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import RoutingTable, route_best, route_nearest_opt
from tuner.recommendation.batched import Batching
from tuner.recommendation.batching import BatchingSettings, Progress, Tuned, tune_batching
from tuner.recommendation.evaluate import evaluate
from tuner.recommendation.recommend import recommend
from tuner.recommendation.recommendation import Caveat, ProfileShare, Recommendation
from tuner.recommendation.scored import RecommendSettings, scored_traffic
from tuner.recommendation.servers import MODEL_PER_PROFILE, ONE_MODEL
from tuner.replay.calibration import LARGEST_DISAGREEMENT
from tuner.replay.queueing import replay
from tuner.replay.score import Judge, latency_table
from tuner.replay.slo import Slo
from tuner.search.client_routing import lanes_of
from tuner.search.study import Trial
from tuner.traffic.arrivals import Arrivals
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

LISTED_SIZES = 2_000
"""Sizes that a routing table lists at most, the heaviest ones."""
FIRST_MAX_BATCH = 64
"""Largest batch that engines are first built for, where nothing is measured and nothing was asked for."""
_ROUNDED_SHARE = 0.001


class _Remembering:
    """A source that keeps every profile which was measured through it."""

    def __init__(self, source: ProfileSource) -> None:
        self._source = source
        self.measured: dict[OptimizationProfile, MeasuredProfile] = {}

    @property
    def model(self) -> Model:
        return self._source.model

    @property
    def facts(self) -> SourceFacts:
        return self._source.facts

    def candidates(self) -> Sequence[OptimizationProfile] | None:
        return self._source.candidates()

    def start(self, profile: OptimizationProfile) -> None:
        self._source.start(profile)

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        found = self._source.measure(profile, sizes, stop)
        if isinstance(found, MeasuredProfile):
            self.measured[found.profile] = found
        return found


def recommend_batched(
    requests: tuple[Traffic, Arrivals],
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
    storage_url: str,
    progress: tuple[Callable[[Trial, int], None] | None, Progress | None] = (None, None),
) -> Recommendation:
    """Measure, tune profiles and batcher together, and recommend for the executions that come of it.

    The recommendation's traffic is that of executions; its objective is GPU time over them, the response
    times stand under `batching`. Raises as `recommend` and `tune_batching` do.
    """
    (traffic, _), (searching, batching) = requests, settings
    plain = dataclasses.replace(searching, objective="gpu_time", slos=_without_response(searching))
    measured = _measured(traffic, source, (plain, batching), storage_url, progress[0])
    tuned = tune_batching(requests, measured, source, (plain, batching), progress[1])
    executed = _executed_traffic(traffic, tuned)
    base = recommend(executed, source, plain, storage_url, progress[0])
    return _with_tuned(base, executed, tuned, source, plain)


def _without_response(settings: RecommendSettings) -> tuple[Slo, ...]:
    return tuple(slo for slo in settings.slos if not slo.metric.startswith("response_"))


def _measured(
    traffic: Traffic,
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
    storage_url: str,
    progress: Callable[[Trial, int], None] | None,
) -> list[MeasuredProfile]:
    """What was recorded, or what a search over likely batches of these requests builds and times."""
    candidates = source.candidates()
    if candidates is not None:
        outcomes = [source.measure(candidate, traffic.histogram.sizes) for candidate in candidates]
        found = [outcome for outcome in outcomes if isinstance(outcome, MeasuredProfile)]
    else:
        remembering = _Remembering(source)
        likely = _likely_batches(traffic, source.model.batch_axis, settings[1].max_batch or FIRST_MAX_BATCH)
        recommend(likely, remembering, settings[0], storage_url, progress)
        found = list(remembering.measured.values())
    if not found:
        raise NothingFeasible("no profile was measured, so there is nothing to replay the requests on")
    return found


def _likely_batches(traffic: Traffic, axis: str | None, largest: int) -> Traffic:
    """The requests at batches by doublings, each as likely as the next: what to measure before a replay."""
    histogram = traffic.histogram
    if axis is None:
        return traffic
    at = histogram.axes.index(axis)
    batches = sorted({2**i for i in range(largest.bit_length()) if 2**i <= largest} | {largest})
    parts = []
    for batch in batches:
        sizes = histogram.sizes.copy()
        sizes[:, at] = np.maximum(sizes[:, at], batch)
        parts.append(SizeHistogram(histogram.axes, sizes, histogram.counts))
    merged = SizeHistogram.merged(parts)
    return Traffic(histogram=merged, tune=merged, log_kind="batches", requests_axis=axis)


def _executed_traffic(traffic: Traffic, tuned: Tuned) -> Traffic:
    """Executions in place of requests: of the tuned part as it was tuned on, of the holdout by replay."""
    field, entry = tuned.field, tuned.entry
    found = entry.found.judged.capacity
    load = found.load if found and found.load else tuned.batching.load
    server = tuned.batching.server
    played = [
        replay(arrivals, entry.service(field.cells, arrivals), server, load=load).executed
        for arrivals in (field.tune, field.holdout)
        if arrivals is not None
    ]
    tune, holdout = played[0], played[1] if len(played) > 1 else None
    parts = [tune] if holdout is None else [tune, holdout]
    note = (
        "sizes are those that the batcher executes, by replay of the logged requests"
        f"{'' if load == 1 else f' at {load:.4g} times their rate'}"
    )
    return dataclasses.replace(
        traffic,
        histogram=SizeHistogram.merged(parts),
        tune=tune,
        holdout=holdout,
        holdout_by=None if holdout is None else "time",
        buckets=None,
        requests_axis=field.cells.sizes.batch_axis,
        notes=(*traffic.notes, note),
    )


def _with_tuned(
    base: Recommendation,
    executed: Traffic,
    tuned: Tuned,
    source: ProfileSource,
    settings: RecommendSettings,
) -> Recommendation:
    """The recommendation with the tuned set in place of the one for GPU time alone."""
    chosen = tuned.batching.chosen
    judges = scored_traffic(executed, source, settings).judges
    policy = "nearest_opt" if _server_routes(tuned.batching) else "best"
    routing = _routing(chosen.profiles, tuned, judges.tune, (policy, source.model, settings))
    evaluated = evaluate(chosen.profiles, tuned.measured, judges, settings.search.mode, routing.route)
    return dataclasses.replace(
        base,
        coverage=tuned.coverage,
        chosen=evaluated,
        routing=routing,
        policy=policy,
        shares=_shares(routing, judges.tune),
        interval=None,
        explanation=None,
        batching=tuned.batching,
        caveats=(*_of_base(base), *_caveats(tuned)),
    )


def _server_routes(batching: Batching) -> bool:
    return batching.chosen.batcher.kind == "triton" and batching.chosen.deployment == ONE_MODEL


def _routing(
    profiles: ProfileSet,
    tuned: Tuned,
    judge: Judge,
    context: tuple[str, Model, RecommendSettings],
) -> RoutingTable:
    policy, model, settings = context
    sizes = judge.histogram.sizes
    judged = tuned.entry.found.judged
    if tuned.batching.chosen.deployment == MODEL_PER_PROFILE:
        # A batch is executed at the size of its largest request, which went where its own size goes.
        index = lanes_of(tuned.field.cells, judged.rows, judged.executed, sizes)
    elif policy == "nearest_opt":
        index = route_nearest_opt(profiles, sizes, model)
    else:
        curves = [m.curve(settings.search.mode) for m in tuned.measured]
        index = route_best(profiles, sizes, latency_table(curves, judge.histogram).latency_ms)
    heaviest = sorted(judge.histogram.heaviest(LISTED_SIZES))
    listed = {judge.histogram.size(row): int(index[row]) for row in heaviest if index[row] >= 0}
    return RoutingTable(profiles, listed)


def _shares(routing: RoutingTable, judge: Judge) -> tuple[ProfileShare, ...]:
    index = routing.route(judge.histogram.sizes)
    requests, work = judge.requests, judge.histogram.work * judge.histogram.counts
    return tuple(
        ProfileShare(
            requests=float(requests[index == i].sum() / requests.sum()),
            work=float(work[index == i].sum() / work.sum()) if work.sum() else 0.0,
        )
        for i in range(len(routing.profiles))
    )


def _of_base(base: Recommendation) -> Iterator[Caveat]:
    return (caveat for caveat in base.caveats if caveat.kind not in ("uncovered", "drift"))


def _caveats(tuned: Tuned) -> Iterator[Caveat]:
    batching, coverage = tuned.batching, tuned.coverage
    if coverage.uncovered_requests:
        done = "left out" if coverage.action == "exclude" else "replayed at the nearest size in range"
        yield Caveat(
            "uncovered",
            f"{coverage.request_share:.1%} of the requests (up to {coverage.largest_uncovered}) lie outside "
            f"of what was measured or allowed; they are {done}: measure larger sizes or scale the axis",
        )
    if tuned.is_deployed_known:
        yield Caveat(
            "deployed_not_weighed",
            "with a batcher the deployed set is replayed to check the replay, but not weighed against the "
            "new one: compare the two with the same --load before you change",
        )
    if batching.chosen.replay.is_overloaded:
        yield Caveat(
            "overloaded",
            f"{batching.arrival_rate_rps:.4g} requests/s are more than this server carries: its queue grows "
            "as long as the log lasts, so no response time is given; lower --load or add GPUs",
        )
    if batching.server.contexts > 1 and not batching.server.concurrency.is_measured:
        yield Caveat(
            "contexts_not_measured",
            f"how {batching.server.contexts} contexts share the GPU was not measured: they are replayed as "
            "one processor that is shared, which carries no more than one context does",
        )
    yield from _of_model(batching)


def _of_model(batching: Batching) -> Iterator[Caveat]:
    if batching.largest_rounding > _ROUNDED_SHARE:
        yield Caveat(
            "rounded_sizes",
            f"requests are replayed at up to {batching.largest_rounding:.1%} larger sizes than they asked "
            "for, so that the table of service times stays small; round them up with --align to decide it",
        )
    if batching.server.batcher.unlike_shapes == "ragged":
        yield Caveat(
            "ragged",
            "a ragged batch is charged as a batch of its mean size; measure the real kernels to be sure",
        )
    if batching.outcome == "cycle":
        yield Caveat(
            "cycle",
            "the profiles and the batches that they lead to did not settle on one set; the best of those "
            "that take turns was chosen",
        )
    if batching.calibration is not None and not batching.calibration.agrees:
        yield Caveat(
            "calibration",
            f"the log's response times differ from the replay of the deployed set by up to "
            f"{batching.calibration.worst:.0%} (more than {LARGEST_DISAGREEMENT:.0%}): give the real number "
            "of --contexts and the real batcher, or trust only comparisons",
        )
