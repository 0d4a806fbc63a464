"""The head of a report: the decision in one sentence with its number, the evidence, the caveats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tuner.report.contents import UNKNOWN, Json, percent
from tuner.report.document_parts import HIGHER_IS_BETTER, objective_of

DEPLOYED = "the deployed set"


def decision_sentence(document: Json) -> str:
    """What to do and what it gains over the deployed set, else over the rule that people use."""
    decision = document["decision"]
    expected = document.get("expected")
    if not expected:
        return f"{decision}: a profile by rule, nothing was measured for it"
    words, _ = objective_of(document)
    baseline = baseline_of(expected)
    if decision == "keep":
        return f"keep: the deployed set stays{_challenger(words, baseline, expected)}"
    if baseline is None:
        return f"{decision}: {words} of {expected['value']:.4g} ms; no gain can be claimed"
    return f"{decision}: {_less(words, baseline.gain, expected)} than {baseline.name}{_traffic(baseline)}"


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the chosen set is compared with; `interval` holds 95 % of the gains under other draws."""

    name: str
    gain: float
    interval: tuple[float, float] | None
    is_held_out: bool


def _challenger(words: str, baseline: Baseline | None, expected: Json) -> str:
    """What the best other set would have gained, where one was found."""
    if baseline is None or baseline.name != DEPLOYED:
        return ""
    return f"; the best challenger has {_less(words, baseline.gain, expected)}{_traffic(baseline)}"


def _traffic(baseline: Baseline) -> str:
    traffic = " on held-out traffic" if baseline.is_held_out else " on the traffic that the search saw"
    if baseline.interval is None:
        return traffic
    low, high = (100 * end for end in baseline.interval)
    return f"{traffic}, 95 % interval {low:.0f} to {high:.0f} %"


def _less(words: str, gain: float, expected: Json) -> str:
    higher = expected.get("objective") in HIGHER_IS_BETTER
    direction = ("more" if gain >= 0 else "less") if higher else ("less" if gain >= 0 else "more")
    return f"{percent(abs(gain))} {direction} {words}"


def baseline_of(expected: Json) -> Baseline | None:
    """The deployed set, else the rule that people use, else any rule; None where no gain may be claimed."""
    rules = expected.get("rules") or {}
    order = [(DEPLOYED, expected.get("deployed")), ("the usual rule opt = max", rules.get("max"))]
    order += [(f"rule {name}", rule) for name, rule in rules.items() if name != "max"]
    for name, found in order:
        for key, is_held_out in (("holdout_gain", True), ("gain", False)):
            if found and found.get(key) is not None:
                return Baseline(name, *gain_of(found[key]), is_held_out)
    return None


def gain_of(found: Any) -> tuple[float, tuple[float, float] | None]:
    """A gain and its interval: the document has a bare number, or a value with its low and high end."""
    if isinstance(found, Mapping):
        return float(found["value"]), (float(found["low"]), float(found["high"]))
    return float(found), None


def facts_of(document: Json) -> Iterator[tuple[str, str]]:
    """Names and values of the evidence line; a fact that is not known is shown so."""
    evidence = document["evidence"]
    if not isinstance(evidence, dict):
        yield "Evidence", "a rule, nothing was measured"
        return
    yield "GPU", _text(evidence.get("gpu"))
    yield "TensorRT", f"{_text(evidence.get('tensorrt'))} ({_text(evidence.get('precision'))})"
    yield "Driver, CUDA", f"{_text(evidence.get('driver'))}, {_text(evidence.get('cuda'))}"
    yield "Model", f"{_text(evidence.get('model'))} ({_text(evidence.get('model_hash'))[:16]})"
    yield "Latencies", f"{_text(evidence.get('latencies'))}, mode {_text(evidence.get('mode'))}"
    yield "Measured on", _text(evidence.get("measured_on"))
    yield (
        "Builds",
        f"{evidence.get('builds', UNKNOWN)}, with {evidence.get('measurements', UNKNOWN)} measurements",
    )
    yield "Confirmed", "yes" if evidence.get("confirmed") else "no, the set was not built as one engine"


def _text(value: object) -> str:
    return UNKNOWN if value is None else str(value)
