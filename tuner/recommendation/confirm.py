"""Confirms a set: built as one engine, measured again and scored as it was predicted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from tuner.errors import EngineError
from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.choose import Contender
from tuner.recommendation.evaluate import Judges, evaluate
from tuner.recommendation.recommendation import Caveat, Confirmation
from tuner.recommendation.scored import RecommendSettings
from tuner.replay.changes import FREE

LARGEST_DIFFERENCE = 0.05
"""Share by which a confirmed score may differ from the predicted one: what two builds of one profile do."""

Confirm = Callable[[ProfileSet, int], Sequence[MeasuredProfile]]
"""Builds a set as one engine, so many times, and gives each profile's curve in it."""


def confirm_set(
    chosen: Contender, judges: Judges, settings: RecommendSettings, confirm: Confirm
) -> tuple[Confirmation, Sequence[MeasuredProfile]]:
    """The score that the set reaches as one engine, and its profiles' curves in it.

    Both scores are of latencies alone, without what changes cost: that would hide how far builds differ. A
    build or a run that fails is a confirmation that failed, and gives no curves.
    """
    profiles, route = chosen.evaluated.profiles, chosen.routing.route
    judges, mode = judges.charging(FREE), settings.search.mode
    expected = evaluate(profiles, chosen.measured, judges, mode, route).tune
    assert expected is not None  # only a set that was scored is chosen
    opts, predicted = tuple(m.profile.opt for m in chosen.measured), expected.value
    try:
        measured = confirm(profiles, settings.confirm_builds)
    except EngineError as error:
        reason = f"{error.kind}: {error}"
        return Confirmation(opts=opts, predicted=predicted, confirmed=None, reason=reason), ()
    score = evaluate(profiles, measured, judges, mode, route).tune
    if score is None:
        reason = "a size of the traffic has no time"
        return Confirmation(opts=opts, predicted=predicted, confirmed=None, reason=reason), ()
    return Confirmation(opts=opts, predicted=predicted, confirmed=score.value, reason=None), measured


def is_otherwise(confirmation: Confirmation) -> bool:
    """Whether the set came out too far from its prediction for the choice to rest on it."""
    difference = confirmation.difference
    return difference is not None and abs(difference) > LARGEST_DIFFERENCE


def as_confirmed(predicted: MeasuredProfile, confirmed: MeasuredProfile, mode: Mode) -> MeasuredProfile:
    """The profile with the times that it has in the set's engine, at the sizes that it serves there."""
    curves = {**predicted.curves, mode: _joined(predicted.curve(mode), confirmed.curve(mode))}
    return dataclasses.replace(
        predicted, curves=curves, engine_keys=(*predicted.engine_keys, *confirmed.engine_keys)
    )


def _joined(predicted: Curve, confirmed: Curve) -> Curve:
    """The confirmed time wherever there is one; beyond the range in the set's engine, the predicted one."""
    sizes = np.unique(np.concatenate([predicted.sizes, confirmed.sizes]), axis=0)
    told, _ = confirmed.latencies(sizes)
    latency = np.where(np.isfinite(told), told, predicted.latencies(sizes)[0])
    known = np.isfinite(latency)
    return Curve(predicted.profile, sizes[known], latency[known], confirmed.build_count)


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
    if not is_otherwise(confirmation):
        return None
    return Caveat(
        "confirmed_otherwise",
        f"as one engine the set scores {confirmation.confirmed:.4g} ms, {confirmation.difference:+.1%} "
        "against the prediction; the choice was made again with what was measured there, but builds differ: "
        "search on with more --builds",
    )
