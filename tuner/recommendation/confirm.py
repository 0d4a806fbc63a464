"""Confirms the chosen set: built as one engine, measured again and scored as it was predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tuner.errors import EngineError
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import RoutingTable
from tuner.recommendation.evaluate import Judges, evaluate
from tuner.recommendation.recommendation import Caveat, Confirmation, Evaluated
from tuner.recommendation.scored import RecommendSettings

LARGEST_DIFFERENCE = 0.05
"""Share by which a confirmed score may differ from the predicted one: what two builds of one profile do."""

Confirm = Callable[[ProfileSet, int], Sequence[MeasuredProfile]]
"""Builds a set as one engine, so many times, and gives each profile's curve in it."""


def confirm_choice(
    chosen: Evaluated, routing: RoutingTable, judges: Judges, settings: RecommendSettings, confirm: Confirm
) -> Confirmation:
    """The score that the set reaches as one engine; a failed build or run is a confirmation that failed."""
    assert chosen.tune is not None  # only a set that was scored is chosen
    predicted = chosen.tune.value
    try:
        measured = confirm(chosen.profiles, settings.confirm_builds)
    except EngineError as error:
        return Confirmation(predicted=predicted, confirmed=None, reason=f"{error.kind}: {error}")
    score = evaluate(chosen.profiles, measured, judges, settings.search.mode, routing.route).tune
    if score is None:
        return Confirmation(predicted=predicted, confirmed=None, reason="a size of the traffic has no time")
    return Confirmation(predicted=predicted, confirmed=score.value, reason=None)


def confirmation_caveat(confirmation: Confirmation | None) -> Caveat | None:
    """What there is to say about it; None where it was confirmed and agrees."""
    if confirmation is None:
        return Caveat("not_confirmed", "the set was not built as one engine and measured again")
    if confirmation.confirmed is None:
        return Caveat(
            "not_confirmed",
            f"the set could not be built and measured as one engine ({confirmation.reason}): narrow the "
            "profiles with --cap or ask for fewer with --max-profiles",
        )
    difference = confirmation.confirmed / confirmation.predicted - 1
    if abs(difference) <= LARGEST_DIFFERENCE:
        return None
    return Caveat(
        "confirmed_otherwise",
        f"as one engine the set scores {confirmation.confirmed:.4g} ms, {difference:+.1%} against the "
        "prediction: builds differ, so search on with more --builds",
    )
