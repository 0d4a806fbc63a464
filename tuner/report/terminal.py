"""What a recommendation looks like in a terminal: tables and sentences, built here, printed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.measurements.measurement import Mode
from tuner.recommendation.document import gain_over
from tuner.recommendation.recommendation import Evaluated, Evidence, Recommendation
from tuner.replay.changes import changes_of
from tuner.replay.score import Score
from tuner.report.explained import explanation_view, front_table
from tuner.report.look import (
    DIM,
    DOUBT,
    GOOD,
    LOUD,
    UNKNOWN,
    bar,
    distribution,
    gain_text,
    plain_table,
)

_PERCENTS = (50, 90, 99)


def recommendation_view(recommendation: Recommendation, *, explain: bool = False) -> RenderableType:
    """Traffic, profiles, comparison with every rule, and the sentences that a reader needs to judge them."""
    parts: list[RenderableType] = [traffic_table(recommendation), profiles_table(recommendation)]
    if recommendation.chosen.tune is not None:
        parts.append(comparison_table(recommendation))
    if len(recommendation.by_count) > 1:
        parts.append(count_table(recommendation))
    if recommendation.pareto is not None:
        parts.append(front_table(recommendation))
    if explain:
        parts.append(explanation_view(recommendation))
    parts.extend(sentences(recommendation))
    parts.extend(Text(f"caveat: {c.text}", style=DOUBT) for c in recommendation.caveats)
    return Group(*parts)


def traffic_table(recommendation: Recommendation) -> Table:
    """Percentiles of each axis and of the work, with the distribution over their logarithm."""
    histogram = recommendation.traffic.histogram
    table = plain_table("Traffic, by rows", ("axis",), ("P50", "P90", "P99", "max"))
    table.add_column("distribution (log scale)", no_wrap=True)
    for axis in histogram.axes:
        percentiles = [*histogram.percentiles(axis, _PERCENTS), histogram.largest[axis]]
        spread = distribution(histogram.values(axis), histogram.counts)
        table.add_row(axis, *(f"{value:,}" for value in percentiles), spread)
    work = histogram.work_percentiles((*_PERCENTS, 100))
    table.add_row("work", *(f"{value:,}" for value in work), distribution(histogram.work, histogram.counts))
    return table


def profiles_table(recommendation: Recommendation) -> Table:
    axes = ", ".join(recommendation.chosen.profiles.axes)
    numbers = ("index", "min", "opt", "max", "requests", "work")
    table = plain_table(f"Recommended profiles ({axes})", (), numbers)
    table.add_column("", no_wrap=True)
    shares = zip(recommendation.chosen.profiles, recommendation.shares, strict=True)
    for index, (profile, share) in enumerate(shares):
        bounds = (profile.min.short, Text(profile.opt.short, style=LOUD), profile.max.short)
        served = (f"{share.requests:.1%}", f"{share.work:.1%}", bar(share.requests))
        table.add_row(str(index), *bounds, *served)
    return table


def comparison_table(recommendation: Recommendation) -> Table:
    """The set beside every rule: the objective on the tuned and on the held-out traffic."""
    table = plain_table(
        f"{recommendation.objective} in ms, by {recommendation.weight}; gain: less than the rule",
        ("set", "opt"),
        ("tuned", "gain", "held out", "gain", "p99"),
    )
    chosen = recommendation.chosen
    table.columns[0].no_wrap = True
    table.add_row("recommended", *_cells(chosen, chosen), style=LOUD)
    for name, rule in recommendation.rules.items():
        style = DIM if rule.judged_at is not None or rule.tune is None else ""
        table.add_row(f"rule {name}", *_cells(rule, chosen), style=style)
    return table


def _cells(evaluated: Evaluated, chosen: Evaluated) -> tuple[str | Text, ...]:
    opts = " ".join(profile.opt.short for profile in evaluated.profiles)
    if evaluated.judged_at is not None:
        opts = f"{opts} ({evaluated.judged_at.replace(':', ' ')})"
    gains = [Text(), Text()]
    if evaluated is not chosen:
        gains = [
            gain_text(gain_over(evaluated, chosen.tune, evaluated.tune)),
            gain_text(gain_over(evaluated, chosen.holdout, evaluated.holdout)),
        ]
    tune = evaluated.tune
    return (
        opts,
        _value(tune),
        gains[0],
        _value(evaluated.holdout),
        gains[1],
        f"{tune.service_p99_ms:.4g}" if tune else UNKNOWN,
    )


def _value(score: Score | None) -> str:
    return f"{score.value:.4f}" if score else UNKNOWN


def count_table(recommendation: Recommendation) -> Table:
    """The best set of each number of profiles, and what one more saves."""
    table = plain_table("Best set of each number of profiles", (), ("profiles", "tuned ms", "less"))
    table.add_column("", no_wrap=True)
    values = recommendation.by_count
    most = max(values.values())
    for count in sorted(values):
        before = values.get(count - 1)
        less = gain_text(1 - values[count] / before) if before else Text()
        style = LOUD if count == len(recommendation.chosen.profiles) else ""
        table.add_row(str(count), f"{values[count]:.4f}", less, bar(values[count] / most), style=style)
    return table


def _charges(evidence: Evidence) -> Iterator[Text]:
    changes = changes_of(evidence.facts, Mode(evidence.mode))
    if not changes.are_free:
        yield Text(
            f"charged in every score: {changes.size_ms:.4g} ms where the request before had another size, "
            f"{changes.profile_ms:.4g} ms where it had another profile (requests in random order)"
        )


def sentences(recommendation: Recommendation) -> Iterator[Text]:
    """Decision, traffic and the gap to the holdout."""
    decision = f"decision: {recommendation.decision} ({recommendation.reason})"
    yield Text(decision, style=f"{LOUD} {GOOD}" if recommendation.decision == "change" else LOUD)
    traffic = recommendation.traffic
    rejected = f", {traffic.rejected_count:,} rows rejected" if traffic.rejected_count else ""
    yield Text(
        f"traffic: {int(traffic.requests(traffic.histogram).sum()):,} requests "
        f"in {traffic.row_count:,} rows, {len(traffic.histogram):,} distinct sizes{rejected}"
    )
    if recommendation.interval is not None:
        low, high = recommendation.interval
        yield Text(
            f"{recommendation.objective}: {low:.4g} to {high:.4g} ms in 95 % of other draws and builds"
        )
    if recommendation.evidence is not None:
        gap = recommendation.evidence.gap
        left = "" if gap is None else f"; a further build would gain {gap:.2%} on average"
        count = recommendation.evidence.trial_count
        yield Text(f"search: {count} profiles, {recommendation.evidence.stopped}{left}")
        yield from _charges(recommendation.evidence)
    tune, holdout = recommendation.chosen.tune, recommendation.chosen.holdout
    if tune is not None and holdout is not None:
        gap = holdout.value / tune.value - 1
        yield Text(
            f"held out by {traffic.holdout_by}: {holdout.value:.4f} ms, {gap:+.1%} against the tuned part"
        )
