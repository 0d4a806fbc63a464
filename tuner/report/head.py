"""The head of a report: the decision in one sentence with its number, the evidence, the caveats."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.report.contents import UNKNOWN, Json, percent
from tuner.report.document_parts import HIGHER_IS_BETTER, objective_of


def decision_sentence(document: Json) -> str:
    """What to do and what it gains over the deployed set, else over the rule that people use."""
    decision = document["decision"]
    expected = document.get("expected")
    if not expected:
        return f"{decision}: a profile by rule, nothing was measured for it"
    words, _ = objective_of(document)
    baseline = baseline_of(expected)
    if baseline is None:
        return f"{decision}: {words} of {expected['value']:.4g} ms; no gain can be claimed"
    name, gain, interval, held_out = baseline
    if decision == "keep" and name == "the deployed set":
        return f"keep: the deployed set stays; the best challenger has {_less(words, gain, expected)}"
    traffic = " on held-out traffic" if held_out else " on the traffic that the search saw"
    between = f", 95 % interval {100 * interval[0]:.0f} to {100 * interval[1]:.0f} %" if interval else ""
    return f"{decision}: {_less(words, gain, expected)} than {name}{traffic}{between}"


def _less(words: str, gain: float, expected: Json) -> str:
    higher = expected.get("objective") in HIGHER_IS_BETTER
    direction = ("more" if gain >= 0 else "less") if higher else ("less" if gain >= 0 else "more")
    return f"{percent(abs(gain))} {direction} {words}"


def baseline_of(expected: Json) -> tuple[str, float, list[float] | None, bool] | None:
    """Name, gain, its interval and whether it is on held-out traffic; None where no gain may be claimed."""
    rules = expected.get("rules") or {}
    order = [("the deployed set", expected.get("deployed"))]
    order += [("the usual rule opt = max", rules.get("max"))]
    order += [(f"rule {name}", rule) for name, rule in rules.items() if name != "max"]
    for name, found in order:
        if not found:
            continue
        for key, held_out in (("holdout_gain", True), ("gain", False)):
            if found.get(key) is not None:
                return name, found[key], found.get("gain_interval"), held_out
    return None


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
