"""The profile document: a recommendation as JSON with stable keys and order, and its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tuner.model import Model
from tuner.model_inputs import model_as_dict
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.recommendation.batching_section import batching_section
from tuner.recommendation.explain import Explanation
from tuner.recommendation.output_file import replace_file
from tuner.recommendation.pareto import FrontSet
from tuner.recommendation.reading_document import SCHEMA_VERSION
from tuner.recommendation.recommendation import Confirmation, Evaluated, Evidence, Recommendation
from tuner.replay.coverage import Coverage
from tuner.replay.score import Score
from tuner.traffic.drift import periods
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

HEAVIEST_SIZES = 2_000
"""Sizes that the document's histogram lists one by one; the rest is summed up."""
_PERCENTS = (50, 90, 99)

# Numbers and white space between brackets: text of a string never matches, its line breaks are escaped.
_NUMBER_LIST = re.compile(r"\[\n((?:\s*-?[0-9][0-9.eE+-]*,?\n)+)\s*\]")

Json = dict[str, Any]


def schema() -> Json:
    """The JSON Schema of the document, as shipped in the package."""
    text = files("tuner.recommendation").joinpath("schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def as_document(recommendation: Recommendation) -> Json:
    """The document as JSON-ready values. It holds no wall clock: same inputs and seed, same document."""
    profiles = recommendation.chosen.profiles
    return {
        "schema_version": SCHEMA_VERSION,
        "decision": recommendation.decision,
        "reason": recommendation.reason,
        "profiles": [
            {
                "index": index,
                **_bounds(profile),
                "tensors": _tensors(profile, recommendation.model),
                "requests_share": _rounded(share.requests),
                "work_share": _rounded(share.work),
            }
            for index, (profile, share) in enumerate(zip(profiles, recommendation.shares, strict=True))
        ],
        "routing": _routing(recommendation),
        "expected": _expected(recommendation) if recommendation.chosen.tune else None,
        "explanation": _explanation(recommendation.explanation),
        "pareto": None if recommendation.pareto is None else [_front_set(s) for s in recommendation.pareto],
        "alternatives": {
            policy: _alternative(recommendation.alternatives.get(policy))
            for policy in ("nearest_opt", "profile_zero", "first_fit", "sticky")
        },
        "batching": batching_section(recommendation.batching),
        "traffic": _traffic(recommendation.traffic, recommendation.coverage),
        "model": model_as_dict(recommendation.model) if recommendation.model else None,
        "evidence": _evidence(recommendation.evidence, recommendation.model),
        "caveats": [{"kind": c.kind, "text": c.text} for c in recommendation.caveats],
    }


def _bounds(profile: OptimizationProfile) -> Json:
    return {"min": profile.min.as_dict(), "opt": profile.opt.as_dict(), "max": profile.max.as_dict()}


def _profiles(profiles: ProfileSet) -> list[Json]:
    return [_bounds(profile) for profile in profiles]


def _tensors(profile: OptimizationProfile, model: Model | None) -> Json | None:
    if model is None:
        return None
    described: Json = {}
    for name, tensor in profile.tensor_ranges(model).items():
        described[name] = {"min": list(tensor.min), "opt": list(tensor.opt), "max": list(tensor.max)}
        if tensor.values is not None:
            described[name]["values"] = {bound: list(v) for bound, v in tensor.values.items()}
    return described


def _routing(recommendation: Recommendation) -> Json:
    listed = recommendation.routing.listed
    return {
        "policy": recommendation.policy,
        "table": [{"size": size.as_dict(), "profile": index} for size, index in listed.items()],
    }


def _expected(recommendation: Recommendation) -> Json:
    chosen = recommendation.chosen
    assert chosen.tune is not None  # as_document asks only for a scored set
    counts = sorted(recommendation.by_count)
    return {
        "objective": recommendation.objective,
        "weight": recommendation.weight,
        "unit": "ms",
        "value": _rounded(chosen.tune.value),
        "interval": _interval(recommendation.interval),
        "tune": _score(chosen.tune),
        "holdout": _score(chosen.holdout),
        "holdout_by": recommendation.traffic.holdout_by,
        "gap": _rounded(chosen.holdout.value / chosen.tune.value - 1) if chosen.holdout else None,
        "deployed": None,
        "rules": {name: _rule(rule, chosen) for name, rule in recommendation.rules.items()},
        "by_profile_count": [
            {"profiles": count, "value": _rounded(recommendation.by_count[count])} for count in counts
        ],
    }


def _interval(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [_rounded(value) for value in interval]


def _explanation(explanation: Explanation | None) -> Json | None:
    if explanation is None:
        return None
    second = explanation.second_best
    return {
        "dropping": [None if rise is None else _rounded(rise) for rise in explanation.dropping],
        "second_best": None
        if second is None
        else {
            "opts": [opt.as_dict() for opt in second.opts],
            "value": _rounded(second.value),
            "worse_by": _rounded(second.worse_by),
        },
        "reasons": list(explanation.reasons),
    }


def _front_set(found: FrontSet) -> Json:
    return {
        "opts": [opt.as_dict() for opt in found.opts],
        "value": _rounded(found.value),
        "device_memory_bytes": found.memory_bytes,
        "build_s": None if found.build_s is None else _rounded(found.build_s),
    }


def _score(score: Score | None) -> Json | None:
    if score is None:
        return None
    return {
        "value": _rounded(score.value),
        "gpu_time_ms": _rounded(score.gpu_time_ms),
        "service_p50_ms": _rounded(score.service_p50_ms),
        "service_p90_ms": _rounded(score.service_p90_ms),
        "service_p99_ms": _rounded(score.service_p99_ms),
        "requests_per_gpu_s": _rounded(score.requests_per_gpu_s),
        "work_per_gpu_s": _rounded(score.work_per_gpu_s),
        "interpolated_share": _rounded(score.interpolated_share),
    }


def _rule(rule: Evaluated, chosen: Evaluated) -> Json:
    return {
        "profiles": _profiles(rule.profiles),
        "judged_at": rule.judged_at,
        "tune": _score(rule.tune),
        "holdout": _score(rule.holdout),
        "gain": gain_over(rule, chosen.tune, rule.tune),
        "holdout_gain": gain_over(rule, chosen.holdout, rule.holdout),
        "reason": rule.reason,
    }


def gain_over(baseline: Evaluated, ours: Score | None, theirs: Score | None) -> float | None:
    """Share of the baseline's objective that is saved; None where no gain may be claimed."""
    if ours is None or theirs is None or baseline.judged_at is not None:
        return None
    return _rounded(1 - ours.value / theirs.value)


def _alternative(evaluated: Evaluated | None) -> Json | None:
    if evaluated is None:
        return None
    return {
        "profiles": _profiles(evaluated.profiles),
        "tune": _score(evaluated.tune),
        "holdout": _score(evaluated.holdout),
    }


def _traffic(traffic: Traffic, coverage: Coverage | None) -> Json:
    histogram = traffic.histogram
    return {
        "start": traffic.start.isoformat() if traffic.start else None,
        "end": traffic.end.isoformat() if traffic.end else None,
        "log_kind": traffic.log_kind,
        "rows": traffic.row_count,
        "requests": int(traffic.requests(histogram).sum()),
        "distinct_sizes": len(histogram),
        "percentiles": {
            **{axis: _percentiles(histogram.percentiles(axis, _PERCENTS)) for axis in histogram.axes},
            "work": _percentiles(histogram.work_percentiles(_PERCENTS)),
        },
        "rejected": {
            reason: {"rows": rejection.count, "first": rejection.first_place}
            for reason, rejection in sorted(traffic.rejections.items())
        },
        "uncovered": _coverage(coverage),
        "notes": list(traffic.notes),
        "over_time": [
            {
                "start": period.start.isoformat(),
                "rows": period.count,
                "percentiles": {name: _percentiles(p) for name, p in period.percentiles.items()},
            }
            for period in periods(traffic)
        ],
        "histogram": _histogram(histogram),
    }


def _percentiles(values: Sequence[float]) -> Json:
    return {f"p{percent}": int(value) for percent, value in zip(_PERCENTS, values, strict=True)}


def _coverage(coverage: Coverage | None) -> Json | None:
    if coverage is None:
        return None
    smallest, largest = coverage.smallest_uncovered, coverage.largest_uncovered
    return {
        "action": coverage.action,
        "requests": int(coverage.uncovered_requests),
        "requests_share": _rounded(coverage.request_share),
        "work_share": _rounded(coverage.work_share),
        "smallest": smallest.as_dict() if smallest else None,
        "largest": largest.as_dict() if largest else None,
    }


def _histogram(histogram: SizeHistogram) -> Json:
    listed = sorted(histogram.heaviest(HEAVIEST_SIZES))
    rest = sorted(set(range(len(histogram))) - set(listed))
    return {
        "axes": list(histogram.axes),
        "sizes": [[*histogram.sizes[row].tolist(), int(histogram.counts[row])] for row in listed],
        "rest": _rest_in_buckets(histogram, rest),
    }


def _rest_in_buckets(histogram: SizeHistogram, rows: list[int]) -> list[list[int]]:
    """Sizes that are not listed, each axis rounded up to a power of two, with their counts."""
    totals: dict[tuple[int, ...], int] = {}
    for row in rows:
        bucket = tuple(1 << max(0, int(value) - 1).bit_length() for value in histogram.sizes[row])
        totals[bucket] = totals.get(bucket, 0) + int(histogram.counts[row])
    return [[*bucket, count] for bucket, count in sorted(totals.items())]


def _evidence(evidence: Evidence | None, model: Model | None) -> Json | str:
    if evidence is None:
        return "rule"
    facts = evidence.facts
    environment = facts.environment
    return {
        "latencies": facts.origin,
        "gpu": environment.gpu,
        "driver": environment.driver,
        "cuda": environment.cuda,
        "tensorrt": environment.tensorrt,
        "flavour": environment.flavour,
        "clock_policy": environment.clock_policy,
        "precision": facts.precision,
        "builder_options": facts.builder_options,
        "measured_on": facts.measured_on,
        "model": model.name if model else None,
        "model_hash": model.content_hash if model else None,
        "mode": evidence.mode,
        "builds": facts.build_count,
        "measurements": facts.measurement_count,
        "trials": evidence.trial_count,
        "failed_trials": dict(evidence.failed_trials),
        "sampler": evidence.sampler,
        "stopped": evidence.stopped,
        "gap": None if evidence.gap is None else _rounded(evidence.gap),
        "seed": evidence.seed,
        "confirmed": evidence.is_confirmed,
        "confirmation": _confirmation(evidence.confirmation),
    }


def _confirmation(confirmation: Confirmation | None) -> Json | None:
    if confirmation is None:
        return None
    confirmed = confirmation.confirmed
    return {
        "predicted": _rounded(confirmation.predicted),
        "confirmed": None if confirmed is None else _rounded(confirmed),
        "reason": confirmation.reason,
    }


def _rounded(value: float) -> float:
    """Six significant digits: more than any measurement carries, and the same on every machine."""
    return float(f"{value:.6g}")


def document_text(document: Mapping[str, Any]) -> str:
    """The document as text; a list of numbers stands on one line, so that nightly differences read well."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return _NUMBER_LIST.sub(lambda found: f"[{' '.join(found.group(1).split())}]", text) + "\n"


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Check the document against the schema and put it in place at once, or not at all."""
    import jsonschema

    try:
        jsonschema.validate(document, schema())
    except jsonschema.ValidationError as error:
        raise AssertionError(f"document breaks its own schema: {error.message}") from error
    replace_file(path, document_text(document))
