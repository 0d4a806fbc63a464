"""What a recommendation looks like in a terminal: tables and sentences, built here, printed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.recommendation.document import gain_over
from tuner.recommendation.recommendation import Evaluated, Recommendation
from tuner.replay.score import Score
from tuner.report.explained import front_table

UNKNOWN = "-"


def recommendation_view(recommendation: Recommendation) -> RenderableType:
    """Profiles, comparison with every rule, and the sentences that a reader needs to judge them."""
    parts: list[RenderableType] = [profiles_table(recommendation)]
    if recommendation.chosen.tune is not None:
        parts.append(comparison_table(recommendation))
    parts.extend(Text(line) for line in sentences(recommendation))
    if recommendation.pareto is not None:
        parts.append(front_table(recommendation))
    parts.extend(Text(f"caveat: {c.text}", style="yellow") for c in recommendation.caveats)
    return Group(*parts)


def profiles_table(recommendation: Recommendation) -> Table:
    axes = ", ".join(recommendation.chosen.profiles.axes)
    table = Table(title=f"Recommended profiles ({axes})", title_justify="left")
    for heading in ("index", "min", "opt", "max", "requests", "work"):
        table.add_column(heading, justify="right")
    shares = zip(recommendation.chosen.profiles, recommendation.shares, strict=True)
    for index, (profile, share) in enumerate(shares):
        bounds = (profile.min.short, profile.opt.short, profile.max.short)
        table.add_row(str(index), *bounds, f"{share.requests:.1%}", f"{share.work:.1%}")
    return table


def comparison_table(recommendation: Recommendation) -> Table:
    """The set beside every rule: the objective on the tuned and on the held-out traffic."""
    table = Table(
        title=f"{recommendation.objective} in ms, by {recommendation.weight}; gain: less than the rule",
        title_justify="left",
    )
    table.add_column("set")
    table.add_column("opt")
    for heading in ("tuned", "gain", "held out", "gain", "p50", "p99", "req/GPU s"):
        table.add_column(heading, justify="right")
    chosen = recommendation.chosen
    table.add_row("recommended", *_cells(chosen, chosen), style="bold")
    for name, rule in recommendation.rules.items():
        table.add_row(f"rule {name}", *_cells(rule, chosen))
    return table


def _cells(evaluated: Evaluated, chosen: Evaluated) -> tuple[str, ...]:
    opts = " ".join(profile.opt.short for profile in evaluated.profiles)
    if evaluated.judged_at is not None:
        opts = f"{opts} ({evaluated.judged_at})"
    gains = ["", ""]
    if evaluated is not chosen:
        gains = [
            _percent(gain_over(evaluated, chosen.tune, evaluated.tune)),
            _percent(gain_over(evaluated, chosen.holdout, evaluated.holdout)),
        ]
    tune = evaluated.tune
    return (
        opts,
        _value(tune),
        gains[0],
        _value(evaluated.holdout),
        gains[1],
        f"{tune.service_p50_ms:.4g}" if tune else UNKNOWN,
        f"{tune.service_p99_ms:.4g}" if tune else UNKNOWN,
        f"{tune.requests_per_gpu_s:.5g}" if tune else UNKNOWN,
    )


def _value(score: Score | None) -> str:
    return f"{score.value:.4f}" if score else UNKNOWN


def _percent(gain: float | None) -> str:
    return UNKNOWN if gain is None else f"{gain:+.1%}"


def sentences(recommendation: Recommendation) -> Iterator[str]:
    """Decision, traffic, gap to the holdout and what another profile would gain."""
    yield f"decision: {recommendation.decision} ({recommendation.reason})"
    traffic = recommendation.traffic
    rejected = f", {traffic.rejected_count} rows rejected" if traffic.rejected_count else ""
    yield (
        f"traffic: {int(traffic.requests(traffic.histogram).sum())} requests in {traffic.row_count} rows, "
        f"{len(traffic.histogram)} distinct sizes{rejected}"
    )
    if recommendation.interval is not None:
        low, high = recommendation.interval
        yield f"{recommendation.objective}: {low:.4g} to {high:.4g} ms in 95 % of other draws and builds"
    if recommendation.evidence is not None:
        gap = recommendation.evidence.gap
        left = "" if gap is None else f"; a further build would gain {gap:.2%} on average"
        count = recommendation.evidence.trial_count
        yield f"search: {count} profiles, {recommendation.evidence.stopped}{left}"
    tune, holdout = recommendation.chosen.tune, recommendation.chosen.holdout
    if tune is not None and holdout is not None:
        gap = holdout.value / tune.value - 1
        yield f"held out by {traffic.holdout_by}: {holdout.value:.4f} ms, {gap:+.1%} against the tuned part"
    values = recommendation.by_count
    for count in sorted(values)[1:]:
        if count - 1 in values:
            less = 1 - values[count] / values[count - 1]
            yield f"best {count} profiles: {values[count]:.4f} ms, {less:.1%} less than {count - 1}"
