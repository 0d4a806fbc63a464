"""Puts a report together: the sections whose facts the document and the store have."""

from __future__ import annotations

from tuner.report.comparison_section import comparison_section
from tuner.report.contents import Contents, Json, Section
from tuner.report.head import decision_sentence, facts_of
from tuner.report.known_curves import KnownCurves
from tuner.report.latency_section import latency_section
from tuner.report.night_section import night_section
from tuner.report.replay_section import replay_section
from tuner.report.search_section import search_section
from tuner.report.traffic_section import traffic_section


def report_contents(document: Json, curves: KnownCurves | None) -> Contents:
    """The report on a document that is valid by its schema; `curves` are those that its store still has."""
    sections: list[Section | None] = [
        night_section(document),
        traffic_section(document),
        None if curves is None else latency_section(document, curves),
        comparison_section(document, curves),
        replay_section(document),
        search_section(document),
    ]
    caveats = [(caveat["kind"], caveat["text"]) for caveat in document["caveats"]]
    if curves is None and document.get("expected"):
        caveats.append(("no_curves", _NO_CURVES))
    evidence = document["evidence"]
    model = evidence.get("model") if isinstance(evidence, dict) else None
    return Contents(
        title=f"Optimization profiles of {model}" if model else "Optimization profiles",
        decision=decision_sentence(document),
        reason=document["reason"],
        facts=tuple(facts_of(document)),
        caveats=tuple(caveats),
        sections=tuple(section for section in sections if section is not None),
    )


_NO_CURVES = (
    "the store has no curves of this document's model and environment, so nothing is shown size by size: "
    "name the store that the run used with --store"
)
