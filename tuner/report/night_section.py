"""The report on the night: today's traffic against the deployed set, and the challenger's gain over it."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.report import charts
from tuner.report.contents import Chart, Columns, Json, Section, Table, percent, table
from tuner.report.head import gain_of

# Traffic that a gain is told on: the document's key and how it reads.
_GAINS = {
    "gain": "traffic that the search saw",
    "holdout_gain": "held-out traffic",
    "recent_gain": "the last nights together",
}


def night_section(document: Json) -> Section | None:
    """None where there was no deployed set to compare with."""
    check = document.get("check")
    compared = challenger_of(document)
    if not check and not compared:
        return None
    sentences = [*(_checked(check) if check else ())]
    parts: list[Chart | Table] = [*(_gains(compared) if compared else ())]
    return Section("night", "Against the deployed set", tuple(sentences), tuple(parts))


def challenger_of(document: Json) -> Json | None:
    """The record that holds the gains of the challenger over the deployed set, where there was one."""
    found = document.get("candidate") or (document.get("expected") or {}).get("deployed")
    return found if found and any(found.get(key) is not None for key in _GAINS) else None


def _checked(check: Json) -> Iterator[str]:
    reasons = "; ".join(check["reasons"])
    yield (
        f"The check calls for a search: {reasons}."
        if check["drift"]
        else "The check finds no reason to search."
    )
    then = (
        ""
        if check.get("uncovered_then") is None
        else f", {percent(check['uncovered_then'])} at the last search"
    )
    yield f"{percent(check['uncovered_now'])} of the requests are not covered by the deployed set{then}."
    if check.get("shift"):
        yield f"Shift of the size distribution since the last search: {_with_interval(check['shift'])}."
    if check.get("loss"):
        yield f"Estimated loss of the deployed set on today's traffic: {_with_interval(check['loss'])}."
    elif check.get("loss_unknown"):
        yield f"What the deployed set loses today is not known: {check['loss_unknown']}."


def _with_interval(found: Json) -> str:
    low, high = percent(found["low"]), percent(found["high"])
    return f"{percent(found['value'])} (95 % interval {low} to {high})"


def _gains(compared: Json) -> Iterator[Chart]:
    known = {words: gain_of(compared[key]) for key, words in _GAINS.items() if compared.get(key) is not None}
    gains = [gain for gain, _ in known.values()]
    intervals = [interval for _, interval in known.values()]
    columns: Columns = {
        "on": ("text", list(known)),
        "gain": ("gain", gains),
        "95 % from": ("gain", [interval[0] if interval else None for interval in intervals]),
        "95 % to": ("gain", [interval[1] if interval else None for interval in intervals]),
    }
    data = charts.marks("gain of the challenger", gains, list(known), 0)
    data["error_x"] = charts.interval_bars(gains, intervals)
    data["hovertemplate"] = "%{y}: %{x:+.1%}<extra></extra>"
    layout = charts.layout(
        charts.axis("gain over the deployed set", tickformat="+.1%", zeroline=True, zerolinewidth=2),
        charts.axis("", type="category", autorange="reversed"),
    )
    first, gain = next(iter(known.items()))
    told = known.get(_GAINS["holdout_gain"], gain)[0]
    on = _GAINS["holdout_gain"] if _GAINS["holdout_gain"] in known else first
    title = f"The challenger gains {100 * told:+.1f} % over the deployed set on {on}"
    yield Chart(title, (data,), layout, table("gains", "Gain over the deployed set", columns), 240)
