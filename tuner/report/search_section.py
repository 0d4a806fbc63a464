"""The report on the search: score against builds, each trial and its outcome, what one more profile gains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tuner.report import charts
from tuner.report.contents import Cell, Chart, Columns, Json, Section, Table, percent, table
from tuner.report.document_parts import objective_of


def search_section(document: Json) -> Section | None:
    """None where nothing was searched."""
    evidence = document["evidence"]
    expected = document.get("expected")
    if not isinstance(evidence, dict) or not expected:
        return None
    parts: list[Chart | Table] = []
    parts += _marginal(document)
    return Section("search", "Search", tuple(_sentences(evidence)), tuple(parts))


def _sentences(evidence: Json) -> Iterator[str]:
    failed = evidence.get("failed_trials") or {}
    told = ", ".join(f"{count} {kind}" for kind, count in failed.items()) or "none failed"
    yield f"{evidence['trials']} trials ({told}); it stopped because: {evidence['stopped']}."


def _marginal(document: Json) -> Iterator[Chart]:
    """The best set of each number of profiles: what one more gains."""
    words, unit = objective_of(document)
    found = document["expected"].get("by_profile_count") or []
    if len(found) < 2:
        return
    counts = [one["profiles"] for one in found]
    values = [one["value"] for one in found]
    chosen = len(document["profiles"])
    gains: list[Cell] = [
        None,
        *(1 - after / before for before, after in itertools.pairwise(values)),
    ]
    gains = [None if gain is None else float(f"{gain:.6g}") for gain in gains]
    columns: Columns = {
        "profiles": ("number", counts),
        f"{words} ({unit})": ("number", values),
        "less than with one fewer": ("gain", gains),
    }
    data = charts.line(
        words, counts, values, 0, hovertemplate=f"%{{x}} profiles: %{{y:.4g}} {unit}<extra></extra>"
    )
    data["marker"]["size"] = [14 if count == chosen else 8 for count in counts]
    last = [
        gain
        for count, gain in zip(counts, gains, strict=True)
        if count == chosen + 1 and isinstance(gain, float)
    ]
    more = f"one more would save {percent(last[0])} on the tuned traffic" if last else "more were not tried"
    layout = charts.layout(
        charts.axis("profiles in the set", dtick=1), charts.axis(f"best {words} ({unit})", rangemode="normal")
    )
    title = f"{chosen} profile{'s' if chosen > 1 else ''} chosen (large mark); {more}"
    yield Chart(
        title, (data,), layout, table("by-profile-count", "Best set of each number of profiles", columns), 300
    )
