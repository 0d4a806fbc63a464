"""The report on the search: score against builds, each trial and its outcome, what one more profile gains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tuner.report import charts
from tuner.report.contents import Cell, Chart, Columns, Json, Section, Table, percent, table
from tuner.report.document_parts import axes_of, objective_of

MIB = 2**20


def search_section(document: Json) -> Section | None:
    """None where nothing was searched."""
    evidence = document["evidence"]
    if not isinstance(evidence, dict) or not document.get("expected"):
        return None
    parts: list[Chart | Table] = [
        *_trials(document),
        *_marginal(document),
        *_worth(document),
        *_front(document),
    ]
    return Section("search", "Search", tuple(_sentences(document, evidence)), tuple(parts))


def _sentences(document: Json, evidence: Json) -> Iterator[str]:
    failed = evidence.get("failed_trials") or {}
    told = ", ".join(f"{count} {kind}" for kind, count in failed.items()) or "none failed"
    sampler = f" by sampler {evidence['sampler']}" if evidence.get("sampler") else ""
    yield f"{evidence['trials']} trials{sampler} ({told}); it stopped because: {evidence['stopped']}."
    if evidence.get("gap") is not None:
        yield f"A further build is expected to gain {percent(evidence['gap'], 2)} on average."
    yield from _about_builds(evidence)
    explanation = document.get("explanation") or {}
    for reason in explanation.get("reasons") or ():
        yield f"Choice: {reason}."
    second = explanation.get("second_best")
    if second:
        opts = opts_text(second["opts"], axes_of(document))
        yield f"Second best of as many profiles: {opts}, {percent(second['worse_by'], 2)} worse."


def _about_builds(evidence: Json) -> Iterator[str]:
    """What the builds needed, what a timing cache saved, and how the set came out as one engine."""
    saving = evidence.get("timing_cache")
    if saving:
        yield (
            f"TensorRT accepted the timing cache in {saving['accepted_builds']} builds, with a median of "
            f"{saving['accepted_s']:.3g} s; {saving['other_builds']} without took {saving['other_s']:.3g} s."
        )
    if evidence.get("workspace_bytes"):
        yield f"Builds needed a workspace of up to {evidence['workspace_bytes'] / 2**20:.0f} MiB."
    confirmation = evidence.get("confirmation")
    if confirmation and confirmation.get("confirmed") is not None:
        yield (
            f"Built as one engine and measured again: {confirmation['confirmed']:.4g} ms where "
            f"{confirmation['predicted']:.4g} ms were predicted."
        )
    elif confirmation:
        yield f"The set could not be confirmed: {confirmation.get('reason')}."
    attempts = (confirmation or {}).get("attempts") or ()
    if len(attempts) > 1:
        yield (
            f"{len(attempts)} sets were built as one engine: where one came out otherwise than predicted, or "
            "told what a change of profile costs, the choice was made again with that."
        )


def opts_text(opts: Sequence[Json], axes: Sequence[str]) -> str:
    return " ".join("x".join(str(opt[axis]) for axis in axes) for opt in opts)


def _trials(document: Json) -> Iterator[Chart]:
    """The best score after each trial, and the trials that gave no curve."""
    words, unit = objective_of(document)
    outcomes = document["evidence"].get("outcomes") or []
    if not outcomes:
        return
    axes = axes_of(document)
    best = list(itertools.accumulate((_value(one) for one in outcomes), min))
    numbers = list(range(1, len(outcomes) + 1))
    known = [value if value < float("inf") else None for value in best]
    columns: Columns = {
        "trial": ("number", numbers),
        f"opt ({', '.join(axes)})": ("text", [opts_text([one["opt"]], axes) for one in outcomes]),
        "outcome": ("text", [one["outcome"] for one in outcomes]),
        f"best so far ({unit})": ("number", known),
        "reason": ("text", [one["reason"] for one in outcomes]),
    }
    data = [
        charts.line(
            "best set so far",
            numbers,
            known,
            0,
            line={"shape": "hv", "width": 2, "color": charts.SERIES_COLOURS[0]},
        )
    ]
    for place, kind in enumerate(sorted({one["outcome"] for one in outcomes} - {"scored"}), start=1):
        at = [n for n, one in zip(numbers, outcomes, strict=True) if one["outcome"] == kind]
        data.append(charts.marks(kind, at, [known[n - 1] for n in at], place))
    reached = next(n for n, value in zip(numbers, known, strict=True) if value == known[-1])
    title = f"The best score was reached with trial {reached} of {len(outcomes)}"
    layout = charts.layout(charts.axis("trial"), charts.axis(f"best {words} ({unit})"))
    yield Chart(title, tuple(data), layout, table("trials", "Every trial and its outcome", columns), 320)


def _value(outcome: Json) -> float:
    return float("inf") if outcome["value"] is None else float(outcome["value"])


def _marginal(document: Json) -> Iterator[Chart]:
    """The best set of each number of profiles: what one more gains."""
    words, unit = objective_of(document)
    found = document["expected"].get("by_profile_count") or []
    if len(found) < 2:
        return
    counts = [one["profiles"] for one in found]
    values = [one["value"] for one in found]
    chosen = len(document["profiles"])
    gains: list[Cell] = [None, *(float(f"{1 - b / a:.6g}") for a, b in itertools.pairwise(values))]
    columns: Columns = {
        "profiles": ("number", counts),
        f"{words} ({unit})": ("number", values),
        "less than with one fewer": ("gain", gains),
    }
    hover = f"%{{x}} profiles: %{{y:.4g}} {unit}<extra></extra>"
    data = charts.line(words, counts, values, 0, hovertemplate=hover)
    sizes = [14 if count == chosen else 8 for count in counts]
    data["marker"] |= {"size": sizes, "opacity": 1, "line": {"width": 0}}
    after = dict(zip(counts, gains, strict=True)).get(chosen + 1)
    more = "more were not tried"
    if isinstance(after, float):
        more = f"one more would save {percent(after)} on the tuned traffic"
    layout = charts.layout(charts.axis("profiles in the set", dtick=1), charts.axis(f"best {words} ({unit})"))
    title = f"{chosen} profile{'s' if chosen > 1 else ''} chosen (large mark); {more}"
    numbers = table("by-profile-count", "Best set of each number of profiles", columns)
    yield Chart(title, (data,), layout, numbers, 300)


def _worth(document: Json) -> Iterator[Table]:
    """What the objective rises by without each profile."""
    dropping = (document.get("explanation") or {}).get("dropping")
    if not dropping or len(dropping) < 2:
        return
    words, _ = objective_of(document)
    profiles = document["profiles"]
    columns: Columns = {
        "profile": ("number", [profile["index"] for profile in profiles]),
        "opt": ("text", [opts_text([profile["opt"]], axes_of(document)) for profile in profiles]),
        f"{words} without it": ("gain", dropping),
    }
    note = "A dash: without that profile some traffic has none."
    yield table("worth", "What each profile is worth", columns, note)


def _front(document: Json) -> Iterator[Chart]:
    """The sets that no other one beats in objective, device memory and build time together."""
    found = document.get("pareto") or []
    if not found:
        return
    words, unit = objective_of(document)
    axes = axes_of(document)
    memory = [_mib(one["device_memory_bytes"]) for one in found]
    columns: Columns = {
        "opts": ("text", [opts_text(one["opts"], axes) for one in found]),
        f"{words} ({unit})": ("number", [one["value"] for one in found]),
        "device memory (MiB)": ("number", memory),
        "build (s)": ("number", [one["build_s"] for one in found]),
    }
    hover = [charts.literal(f"{opts_text(one['opts'], axes)}: {one['value']:.4g} {unit}") for one in found]
    # Where all sets take the same memory, what tells them apart is the time to build them.
    by_memory = len(set(memory)) > 1
    x = memory if by_memory else [one["build_s"] for one in found]
    data = charts.marks("sets", x, [one["value"] for one in found], 0, text=hover)
    data["hovertemplate"] = "%{text}<extra></extra>"
    x_axis = charts.axis("device memory (MiB)" if by_memory else "build time (s)")
    layout = charts.layout(x_axis, charts.axis(f"{words} ({unit})"))
    title = f"{len(found)} sets are beaten by none in {words}, device memory and build time together"
    yield Chart(title, (data,), layout, table("pareto", "Pareto front", columns), 320)


def _mib(found: int | None) -> float | None:
    return None if found is None else float(f"{found / MIB:.6g}")
