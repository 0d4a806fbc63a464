"""Why this set, for a person: what each profile is worth, the second best, the Pareto front."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.recommendation.recommendation import Recommendation
from tuner.report.look import UNKNOWN, plain_table


def explanation_view(recommendation: Recommendation) -> RenderableType:
    """What `--explain` shows; a sentence where nothing was measured."""
    explanation = recommendation.explanation
    if explanation is None:
        return Text("nothing to explain: the profiles follow a rule and nothing was measured")
    parts: list[RenderableType] = [_worth_table(recommendation, explanation.dropping)]
    second = explanation.second_best
    if second is not None:
        opts = " ".join(opt.short for opt in second.opts)
        parts.append(Text(f"second best of as many: {opts}, {second.value:.4f} ms, {second.worse_by:+.2%}"))
    parts.extend(Text(f"choice: {reason}") for reason in explanation.reasons)
    return Group(*parts)


def _worth_table(recommendation: Recommendation, dropping: tuple[float | None, ...]) -> Table:
    """What each profile serves, and what the objective rises by without it."""
    headings = ("index", "opt", "requests", "work", "without it")
    table = plain_table("What each profile is worth", (), headings)
    rows = zip(recommendation.chosen.profiles, recommendation.shares, dropping, strict=True)
    for index, (profile, share, rise) in enumerate(rows):
        without = "cannot serve all" if rise is None else f"{rise:+.1%}"
        table.add_row(str(index), profile.opt.short, f"{share.requests:.1%}", f"{share.work:.1%}", without)
    return table


def front_table(recommendation: Recommendation) -> Table:
    """The sets that no other one beats in objective, device memory and build time together."""
    numbers = (f"{recommendation.objective} ms", "device memory MiB", "build s")
    table = plain_table("Sets that nothing beats in everything", ("opts",), numbers)
    for found in recommendation.pareto or ():
        memory = UNKNOWN if found.memory_bytes is None else f"{found.memory_bytes / 2**20:.0f}"
        build = UNKNOWN if found.build_s is None else f"{found.build_s:.0f}"
        table.add_row(" ".join(opt.short for opt in found.opts), f"{found.value:.4f}", memory, build)
    return table
