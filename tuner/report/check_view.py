"""What a check looks like: lines for a person, JSON for an alert, metrics for Prometheus."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tuner.recommendation.night import Check

_METRICS = (
    ("tuner_drift", "1 where the traffic has drifted away from the deployed profiles, else 0."),
    ("tuner_uncovered_ratio", "Share of requests outside the deployed profiles."),
    ("tuner_shift_ratio", "Share of the traffic's weight in other sizes than at the last search."),
    ("tuner_loss_ratio", "Share of the objective that the best set of stored curves would save."),
)


def check_json(found: Check) -> str:
    return json.dumps(found.as_json(), indent=2, allow_nan=False) + "\n"


def check_lines(found: Check) -> Iterator[str]:
    """The verdict first, then each figure with its interval."""
    yield "drift" if found.is_drift else "no drift"
    yield from (f"- {reason}" for reason in found.reasons)
    then = "unknown" if found.uncovered_then is None else f"{found.uncovered_then:.2%}"
    yield f"uncovered requests: {found.uncovered_now:.2%} now, {then} at the last search"
    if found.shift is None:
        yield "shift of sizes: unknown, the document does not say what its search saw"
    else:
        shift = found.shift
        yield f"shift of sizes: {shift.value:.1%} ({shift.low:.1%} to {shift.high:.1%}) of the weight"
    if found.loss is None:
        yield f"loss: unknown, {found.loss_unknown}"
    else:
        yield f"loss against the best set of stored curves: {found.loss}"


def check_metrics(found: Check) -> str:
    """Prometheus' text format; a figure that is not known is left out, as an absent series."""
    values = {
        "tuner_drift": float(found.is_drift),
        "tuner_uncovered_ratio": found.uncovered_now,
        "tuner_shift_ratio": found.shift.value if found.shift else None,
        "tuner_loss_ratio": found.loss.value if found.loss else None,
    }
    lines = []
    for name, text in _METRICS:
        value = values[name]
        if value is not None:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {value:.6g}"]
    return "\n".join(lines) + "\n"
