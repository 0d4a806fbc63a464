"""Keep or change: every doubt keeps, and only a gain past margin and noise changes."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.recommendation.decide import Case, Margins, decide
from tuner.recommendation.gain import Gain

CLEAR = Gain(0.05, 0.03, 0.07)
BETTER = Case(tune=CLEAR, holdout=CLEAR)


def test_a_clear_gain_on_held_out_traffic_changes() -> None:
    decision = decide(BETTER, Margins())
    assert decision.decision == "change"
    assert decision.reason == "saves 5.0% (3.0% to 7.0%) on held-out traffic"


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (dataclasses.replace(BETTER, is_same=True), "found the deployed set again"),
        (dataclasses.replace(BETTER, contended=0.25), "25.0% of the measurements"),
        (
            dataclasses.replace(BETTER, holdout=Gain(0.019, 0.01, 0.03)),
            "gains 1.9% on held-out traffic, less",
        ),
        (dataclasses.replace(BETTER, holdout=Gain(0.03, -0.001, 0.06)), "within noise"),
        (dataclasses.replace(BETTER, tune=Gain(-0.01, -0.02, 0.0)), "none on the tuned part"),
        (dataclasses.replace(BETTER, recent=Gain(0.01, -1, 1)), "1.0% over the last nights together"),
        (Case(unjudged="no curve"), "cannot be compared: no curve"),
    ],
)
def test_every_doubt_keeps_and_says_why(case: Case, said: str) -> None:
    decision = decide(case, Margins())
    assert decision.decision == "keep"
    assert said in decision.reason


def test_disturbed_measurements_keep_even_where_requests_are_uncovered() -> None:
    assert decide(Case(contended=0.01, newly_covered=0.5), Margins()).decision == "keep"


def test_uncovered_requests_are_a_reason_of_their_own() -> None:
    decision = decide(Case(newly_covered=0.02), Margins())
    assert (decision.decision, "2.00%" in decision.reason) == ("change", True)


def test_a_set_for_another_model_is_replaced() -> None:
    assert decide(Case(other_model=True), Margins()).decision == "change"


def test_a_gain_over_the_last_nights_too_changes() -> None:
    assert decide(dataclasses.replace(BETTER, recent=Gain(0.03, -1, 1)), Margins()).decision == "change"


GAINS = st.builds(Gain, *(st.floats(-1, 1) for _ in range(3)))


@given(
    st.builds(Case, tune=GAINS, holdout=st.none() | GAINS, recent=st.none() | GAINS),
    st.builds(Margins, min_gain=st.floats(0, 0.5)),
)
def test_nothing_below_margin_or_noise_ever_changes(case: Case, margins: Margins) -> None:
    gain = case.holdout or case.tune
    assert gain is not None
    if decide(case, margins).decision == "change":
        assert gain.value >= margins.min_gain
        assert gain.low > 0
