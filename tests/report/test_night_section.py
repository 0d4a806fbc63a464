"""The night's section: drift, losses and gains of the challenger, as the document has them."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from tests.report.documents import Written
from tests.report.reading import charts, column
from tuner.report.night_section import night_section
from tuner.report.report import report_contents

GAINS = {
    "gain": {"value": 0.05, "low": 0.04, "high": 0.06},
    "holdout_gain": {"value": 0.031, "low": 0.02, "high": 0.04},
    "recent_gain": None,
}
CHECK: dict[str, Any] = {
    "drift": True,
    "reasons": ["the sizes have moved"],
    "uncovered_then": 0.0,
    "uncovered_now": 0.02,
    "shift": {"value": 0.2, "low": 0.1, "high": 0.3},
    "loss": None,
    "loss_unknown": "the store has no curve of profile 1",
}


def night(sample: Written, **facts: Any) -> dict[str, Any]:
    return {**sample.document, "check": CHECK, "candidate": {"profiles": [], **GAINS}, **facts}


def test_drift_coverage_shift_and_what_is_not_known_are_told(sample: Written) -> None:
    section = night_section(night(sample))
    assert section is not None
    told = " ".join(section.sentences)
    for words in (
        "calls for a search: the sizes have moved",
        "2.0 % of the requests",
        "20.0 % (95 % interval 10.0 % to",
    ):
        assert words in told
    assert "not known: the store has no curve of profile 1" in told


def test_gains_are_drawn_with_their_intervals(sample: Written) -> None:
    section = night_section(night(sample))
    assert section is not None
    chart = charts(section)[0]
    go.Figure(data=list(chart.data), layout=dict(chart.layout))
    assert column(chart.table, "gain") == [0.05, 0.031]
    assert chart.data[0]["error_x"]["array"] == pytest.approx([0.01, 0.009])
    assert "+3.1 %" in chart.title


def test_without_a_deployed_set_there_is_no_such_section(sample: Written) -> None:
    assert night_section(sample.document) is None


def test_a_quiet_night_says_that_there_is_no_reason_to_search(sample: Written) -> None:
    calm = CHECK | {"drift": False, "reasons": [], "shift": None, "loss_unknown": None}
    document = night(sample, check=calm, candidate=None, decision="keep")
    section = night_section(document)
    assert section is not None
    assert section.sentences[0] == "The check finds no reason to search."
    assert section.parts == ()


def test_the_night_comes_first_in_the_report(sample: Written) -> None:
    document = night(sample, candidate=None)
    assert report_contents(document, None).sections[0].name == "night"
