"""Keep or change: a challenger replaces the deployed set only past noise, margin and held-out traffic."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.recommendation.gain import Gain

MIN_GAIN = 0.02
"""What a change has to save at least, as a share of the objective."""
MAX_UNCOVERED = 0.001
"""Share of requests that the deployed set may leave uncovered before that alone is a reason."""


@dataclass(frozen=True, slots=True)
class Margins:
    """What a change has to bring. `max_uncovered` is a share of requests."""

    min_gain: float = MIN_GAIN
    max_uncovered: float = MAX_UNCOVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is known of a challenger against the deployed set.

    `tune` and `holdout` are gains over the deployed set, None where there is no such traffic or the
    deployed set cannot be judged, for `unjudged`; `recent` is the gain over the last nights together.
    `newly_covered` is the share of requests that the challenger covers and the deployed set does not.
    `contended` is the share of the measurements behind either set that others
    on the GPU disturbed. `other_model` says that the deployed set was tuned for another model.
    """

    is_same: bool = False
    tune: Gain | None = None
    holdout: Gain | None = None
    recent: Gain | None = None
    newly_covered: float = 0.0
    contended: float = 0.0
    other_model: bool = False
    unjudged: str = "it was not measured"


@dataclass(frozen=True, slots=True)
class Decision:
    """`change` or `keep`, and why in a sentence."""

    decision: str
    reason: str


def decide(case: Case, margins: Margins) -> Decision:
    """The first reason that applies decides; every doubt is a reason to keep."""
    if case.is_same:
        return Decision("keep", "the search found the deployed set again")
    if case.contended > 0:
        return Decision(
            "keep",
            f"{case.contended:.1%} of the measurements behind the decision were disturbed by other "
            "processes on the GPU; they are repeated in the next run",
        )
    if case.other_model:
        return Decision("change", "the deployed set was tuned for another model")
    if case.newly_covered > margins.max_uncovered:
        return Decision(
            "change", f"the deployed set leaves {case.newly_covered:.2%} of the requests uncovered"
        )
    return _by_gain(case, margins)


def _by_gain(case: Case, margins: Margins) -> Decision:
    gain = case.holdout or case.tune
    where = (
        "on held-out traffic" if case.holdout is not None else "on the traffic, of which none was held out"
    )
    if gain is None:
        return Decision("keep", f"the deployed set cannot be compared: {case.unjudged}")
    needed = margins.min_gain
    if gain.value < needed:
        return Decision("keep", f"the best set found gains {gain.value:.1%} {where}, less than {needed:.1%}")
    if gain.low <= 0:
        return Decision("keep", f"the gain of {gain} {where} is within noise")
    if case.tune is not None and case.tune.value <= 0:
        return Decision("keep", f"the gain of {gain} {where} is none on the tuned part ({case.tune})")
    if case.recent is not None and case.recent.value < needed:
        return Decision(
            "keep",
            f"the gain of {gain} {where} is {case.recent.value:.1%} over the last nights together, less than "
            f"{needed:.1%}: what comes and goes is not followed",
        )
    return Decision("change", f"saves {gain} {where}")
