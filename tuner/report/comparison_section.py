"""The report on alternatives: the recommended set beside the deployed one and every rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tuner.report import charts
from tuner.report.contents import Cell, Chart, Columns, Json, Section, Table, table
from tuner.report.document_parts import NamedSet, objective_of, sets_of
from tuner.report.known_curves import KnownCurves
from tuner.report.size_differences import difference_charts

GIB = 2**30


def comparison_section(document: Json, curves: KnownCurves | None) -> Section | None:
    """None where nothing was scored, as with a profile by rule."""
    if not document.get("expected"):
        return None
    sets = list(sets_of(document))
    numbers = comparison_table(document, sets, curves)
    parts: list[Chart | Table] = [_dots(document, sets, numbers)]
    if curves is not None:
        parts += difference_charts(document, sets, curves)
    return Section(
        "comparison", "Comparison with other sets", tuple(_sentences(document, sets)), tuple(parts)
    )


def _sentences(document: Json, sets: Sequence[NamedSet]) -> list[str]:
    expected = document["expected"]
    held = {"time": "the last 30 % of the traffic in time", "hash": "30 % of the traffic, chosen by hash"}
    by = expected.get("holdout_by")
    found = [
        f"Held-out traffic is {held.get(by, 'a part')}, which the search did not see."
        if by
        else "No traffic was held out: these are scores on the traffic that the search saw."
    ]
    if any(one.judged_at for one in sets):
        found.append(
            "A rule whose own profile was not measured is shown at the nearest one that was (open mark); "
            "no gain is claimed over it."
        )
    return found


def part_shown(document: Json) -> str:
    """Which part of the traffic the figures are about: `holdout` where there is one."""
    return "holdout" if document["expected"].get("holdout") else "tune"


def comparison_table(document: Json, sets: Sequence[NamedSet], curves: KnownCurves | None) -> Table:
    words, unit = objective_of(document)

    def scores(part: str, key: str) -> list[Cell]:
        return [(one.facts.get(part) or {}).get(key) for one in sets]

    intervals = [interval_of(one, document) for one in sets]
    columns: Columns = {
        "set": ("text", [one.name for one in sets]),
        "opts": ("text", [", ".join(p.opt.short for p in one.profiles) for one in sets]),
        "judged at": ("text", [one.judged_at or "its own curves" for one in sets]),
        f"tuned ({unit})": ("number", scores("tune", "value")),
        f"held out ({unit})": ("number", scores("holdout", "value")),
        "gain, tuned": ("gain", [_gain(document, one, "tune", "gain") for one in sets]),
        "gain, held out": ("gain", [_gain(document, one, "holdout", "holdout_gain") for one in sets]),
        f"95 % from ({unit})": ("number", [i[0] if i else None for i in intervals]),
        f"95 % to ({unit})": ("number", [i[1] if i else None for i in intervals]),
        "P50 (ms)": ("number", scores(part_shown(document), "service_p50_ms")),
        "P99 (ms)": ("number", scores(part_shown(document), "service_p99_ms")),
        "requests/GPU s": ("number", scores(part_shown(document), "requests_per_gpu_s")),
        "device memory (GiB)": ("number", [_memory(one, curves) for one in sets]),
        "build (s)": ("number", [_build(one, curves) for one in sets]),
        "why there is no score": ("text", [one.facts.get("reason") for one in sets]),
    }
    known = {heading: c for heading, c in columns.items() if any(v is not None for v in c[1])}
    note = (
        f"Score is the {words}; gain is what the recommended set saves against that set. P50 and P99 "
        "are of service time, without waiting. Memory is that of the set's largest profile, "
        "build the sum over its profiles "
        "built alone."
    )
    return table("comparison", "All sets", known, note)


def _gain(document: Json, one: NamedSet, part: str, key: str) -> float | None:
    """What the set to run saves against this one on a part of the traffic."""
    if one.name.startswith("rule "):
        found = one.facts.get(key)
        return None if found is None else float(found)
    ours, theirs = (facts.get(part) for facts in (document["expected"], one.facts))
    if one.name == "recommended" or not ours or not theirs:
        return None
    return float(f"{1 - ours['value'] / theirs['value']:.6g}")


def interval_of(one: NamedSet, document: Json) -> list[float] | None:
    """The 95 % interval of a set's score on the traffic that is shown, where the document has one."""
    interval = one.facts.get("interval")
    return None if interval is None else [float(interval[0]), float(interval[1])]


def _memory(one: NamedSet, curves: KnownCurves | None) -> float | None:
    found = [curves.measured(p) for p in one.profiles] if curves else [None]
    known = [m.device_memory_bytes for m in found if m is not None and m.device_memory_bytes is not None]
    return float(f"{max(known) / GIB:.4g}") if len(known) == len(found) else None


def _build(one: NamedSet, curves: KnownCurves | None) -> float | None:
    found = [curves.measured(p) for p in one.profiles] if curves else [None]
    known = [m.build_s for m in found if m is not None and m.build_s is not None]
    return float(f"{sum(known):.4g}") if len(known) == len(found) else None


def _dots(document: Json, sets: Sequence[NamedSet], numbers: Table) -> Chart:
    words, unit = objective_of(document)
    part = part_shown(document)
    scored = [one for one in sets if one.facts.get(part)][::-1]
    values = [float(one.facts[part]["value"]) for one in scored]
    names = [charts.literal(one.name) for one in scored]
    data: list[charts.Figure] = []
    for label, own, symbol in (
        ("recommended", [one.name == "recommended" for one in scored], "diamond"),
        (
            "other sets, by their own curves",
            [one.name != "recommended" and not one.judged_at for one in scored],
            "circle",
        ),
        ("rules at the nearest measured profile", [bool(one.judged_at) for one in scored], "circle-open"),
    ):
        chosen = np.flatnonzero(own).tolist()
        if not chosen:
            continue
        intervals = [interval_of(scored[i], document) for i in chosen]
        x = [values[i] for i in chosen]
        trace = charts.marks(label, x, [names[i] for i in chosen], len(data) if label != "recommended" else 5)
        trace["marker"] |= {"symbol": symbol, "size": 12}
        trace["hovertemplate"] = f"%{{y}}: %{{x:.4g}} {unit}<extra></extra>"
        if any(intervals):
            trace["error_x"] = charts.interval_bars(x, intervals)
        data.append(trace)
    traffic = "held-out traffic" if part == "holdout" else "the traffic that the search saw"
    layout = charts.layout(
        charts.axis(f"{words} ({unit})", rangemode="tozero"),
        charts.axis("", categoryorder="array", categoryarray=names, type="category"),
    )
    best = min(values)
    ahead = "none is better" if values[-1] <= best else f"the least is {best:.4g} {unit}"
    title = f"Recommended set: {values[-1]:.4g} {unit} on {traffic}; of {len(values) - 1} other sets {ahead}"
    return Chart(title, tuple(data), layout, numbers, height=140 + 34 * len(names))
