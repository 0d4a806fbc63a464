"""Why this set, for a person: what each profile is worth, the marginal table, the Pareto front."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.recommendation.recommendation import Recommendation

UNKNOWN = "-"


def explanation_view(recommendation: Recommendation) -> RenderableType:
    """What `--explain` shows; a sentence where nothing was measured."""
    explanation = recommendation.explanation
    if explanation is None:
        return Text("nothing to explain: the profiles follow a rule and nothing was measured")
    parts: list[RenderableType] = [_worth_table(recommendation, explanation.dropping)]
    if len(recommendation.by_count) > 1:
        parts.append(_marginal_table(recommendation))
    second = explanation.second_best
    if second is not None:
        opts = " ".join(opt.short for opt in second.opts)
        parts.append(Text(f"second best of as many: {opts}, {second.value:.4f} ms, {second.worse_by:+.2%}"))
    parts.extend(Text(f"choice: {reason}") for reason in explanation.reasons)
    return Group(*parts)


def _worth_table(recommendation: Recommendation, dropping: tuple[float | None, ...]) -> Table:
    """What each profile serves, and what the objective rises by without it."""
    table = Table(title="What each profile is worth", title_justify="left")
    for heading in ("index", "opt", "requests", "work", "without it"):
        table.add_column(heading, justify="right")
    rows = zip(recommendation.chosen.profiles, recommendation.shares, dropping, strict=True)
    for index, (profile, share, rise) in enumerate(rows):
        without = "cannot serve all" if rise is None else f"{rise:+.1%}"
        table.add_row(str(index), profile.opt.short, f"{share.requests:.1%}", f"{share.work:.1%}", without)
    return table


def _marginal_table(recommendation: Recommendation) -> Table:
    """The best set of each number of profiles, and what the last profile gained."""
    table = Table(title="What one more profile gains", title_justify="left")
    for heading in ("profiles", f"{recommendation.objective} ms", "gain"):
        table.add_column(heading, justify="right")
    before: float | None = None
    for count, value in sorted(recommendation.by_count.items()):
        table.add_row(str(count), f"{value:.4f}", "" if before is None else f"{1 - value / before:.2%}")
        before = value
    return table


def front_table(recommendation: Recommendation) -> Table:
    """The sets that no other one beats in objective, device memory and build time together."""
    table = Table(title="Sets that nothing beats in everything", title_justify="left")
    table.add_column("opts")
    for heading in (f"{recommendation.objective} ms", "device memory MiB", "build s"):
        table.add_column(heading, justify="right")
    for found in recommendation.pareto or ():
        memory = UNKNOWN if found.memory_bytes is None else f"{found.memory_bytes / 2**20:.0f}"
        build = UNKNOWN if found.build_s is None else f"{found.build_s:.0f}"
        table.add_row(" ".join(opt.short for opt in found.opts), f"{found.value:.4f}", memory, build)
    return table
