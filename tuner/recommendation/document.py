"""The profile document: a recommendation as JSON with stable keys and order, and its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from tuner.measurements.cache_saving import CacheSaving
from tuner.model import Model
from tuner.model_inputs import model_as_dict
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import RoutingTable
from tuner.recommendation.batching_section import batcher_settings, batching_section
from tuner.recommendation.explain import Explanation
from tuner.recommendation.night import GainOver, NightRecord, cells_as_json
from tuner.recommendation.output_file import replace_file
from tuner.recommendation.pareto import FrontSet
from tuner.recommendation.reading_document import SCHEMA_VERSION as SCHEMA_VERSION
from tuner.recommendation.recommendation import Confirmation, Evaluated, Evidence, Recommendation
from tuner.recommendation.rounding import rounded
from tuner.recommendation.traffic_json import traffic_json
from tuner.replay.score import Score

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
                "requests_share": rounded(share.requests),
                "work_share": rounded(share.work),
            }
            for index, (profile, share) in enumerate(zip(profiles, recommendation.shares, strict=True))
        ],
        "routing": _routing(recommendation.routing, recommendation.policy),
        "expected": _expected(recommendation) if recommendation.chosen.tune else None,
        "candidate": _compared(recommendation.candidate, recommendation.night),
        "explanation": _explanation(recommendation.explanation),
        "pareto": None if recommendation.pareto is None else [_front_set(s) for s in recommendation.pareto],
        "alternatives": {
            policy: _alternative(recommendation.alternatives.get(policy))
            for policy in ("nearest_opt", "profile_zero", "first_fit", "sticky")
        },
        "traffic": traffic_json(recommendation.traffic, recommendation.coverage),
        "batcher": batcher_settings(recommendation.batching),
        "batching": batching_section(recommendation.batching),
        "model": model_as_dict(recommendation.model) if recommendation.model else None,
        "evidence": _evidence(recommendation.evidence, recommendation.model),
        **_night(recommendation.night),
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


def _routing(routing: RoutingTable, policy: str) -> Json:
    return {
        "policy": policy,
        "table": [{"size": size.as_dict(), "profile": index} for size, index in routing.listed.items()],
    }


def _expected(recommendation: Recommendation) -> Json:
    chosen = recommendation.chosen
    assert chosen.tune is not None  # as_document asks only for a scored set
    counts = sorted(recommendation.by_count)
    return {
        "objective": recommendation.objective,
        "weight": recommendation.weight,
        "unit": "ms",
        "value": rounded(chosen.tune.value),
        "interval": _interval(recommendation.interval),
        "tune": score_json(chosen.tune),
        "holdout": score_json(chosen.holdout),
        "holdout_by": recommendation.traffic.holdout_by,
        "gap": rounded(chosen.holdout.value / chosen.tune.value - 1) if chosen.holdout else None,
        "deployed": _compared(recommendation.deployed, recommendation.night),
        "rules": {name: _rule(rule, chosen) for name, rule in recommendation.rules.items()},
        "by_profile_count": [
            {"profiles": count, "value": rounded(recommendation.by_count[count])} for count in counts
        ],
    }


def _interval(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [rounded(value) for value in interval]


def _explanation(explanation: Explanation | None) -> Json | None:
    if explanation is None:
        return None
    second = explanation.second_best
    return {
        "dropping": [None if rise is None else rounded(rise) for rise in explanation.dropping],
        "second_best": None
        if second is None
        else {
            "opts": [opt.as_dict() for opt in second.opts],
            "value": rounded(second.value),
            "worse_by": rounded(second.worse_by),
        },
        "reasons": list(explanation.reasons),
    }


def _front_set(found: FrontSet) -> Json:
    return {
        "opts": [opt.as_dict() for opt in found.opts],
        "value": rounded(found.value),
        "device_memory_bytes": found.memory_bytes,
        "build_s": None if found.build_s is None else rounded(found.build_s),
    }


def score_json(score: Score | None) -> Json | None:
    """A score as it stands in the document, six significant digits each."""
    if score is None:
        return None
    return {
        "value": rounded(score.value),
        "gpu_time_ms": rounded(score.gpu_time_ms),
        "service_p50_ms": rounded(score.service_p50_ms),
        "service_p90_ms": rounded(score.service_p90_ms),
        "service_p99_ms": rounded(score.service_p99_ms),
        "requests_per_gpu_s": rounded(score.requests_per_gpu_s),
        "work_per_gpu_s": rounded(score.work_per_gpu_s),
        "interpolated_share": rounded(score.interpolated_share),
    }


def _rule(rule: Evaluated, chosen: Evaluated) -> Json:
    return {
        "profiles": _profiles(rule.profiles),
        "judged_at": rule.judged_at,
        "tune": score_json(rule.tune),
        "holdout": score_json(rule.holdout),
        "gain": gain_over(rule, chosen.tune, rule.tune),
        "holdout_gain": gain_over(rule, chosen.holdout, rule.holdout),
        "reason": rule.reason,
    }


def gain_over(baseline: Evaluated, ours: Score | None, theirs: Score | None) -> float | None:
    """Share of the baseline's objective that is saved; None where no gain may be claimed."""
    if ours is None or theirs is None or baseline.judged_at is not None:
        return None
    return rounded(1 - ours.value / theirs.value)


def _alternative(evaluated: Evaluated | None) -> Json | None:
    if evaluated is None:
        return None
    return {
        "profiles": _profiles(evaluated.profiles),
        "tune": score_json(evaluated.tune),
        "holdout": score_json(evaluated.holdout),
    }


def _compared(evaluated: Evaluated | None, night: NightRecord | None) -> Json | None:
    """The other set beside the one to run, with the gains of the challenger over the deployed one."""
    if evaluated is None:
        return None
    gain = night.gain if night is not None and night.gain is not None else GainOver()
    return {
        "profiles": _profiles(evaluated.profiles),
        "tune": score_json(evaluated.tune),
        "holdout": score_json(evaluated.holdout),
        **gain.as_json(),
    }


def _night(night: NightRecord | None) -> Json:
    if night is None:
        return {"check": None, "last_search": None, "recent": None}
    return {
        "check": night.check.as_json() if night.check else None,
        "last_search": night.last_search.as_json(),
        "recent": cells_as_json(night.recent),
    }


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
        "interpolation_error": (
            None if facts.interpolation_error is None else rounded(facts.interpolation_error)
        ),
        "switch_ms": None if facts.switch_ms is None else rounded(facts.switch_ms),
        "size_change_ms": None if facts.size_change_ms is None else rounded(facts.size_change_ms),
        "workspace_bytes": facts.workspace_bytes,
        "timing_cache": None if facts.cache_saving is None else _cache_saving(facts.cache_saving),
        "trials": evidence.trial_count,
        "failed_trials": dict(evidence.failed_trials),
        "outcomes": [
            {
                "opt": trial.profile.opt.as_dict(),
                "outcome": trial.outcome,
                "reason": trial.reason,
                "value": None if trial.value is None else rounded(trial.value),
            }
            for trial in evidence.trials
        ],
        "sampler": evidence.sampler,
        "stopped": evidence.stopped,
        "gap": None if evidence.gap is None else rounded(evidence.gap),
        "seed": evidence.seed,
        "confirmed": evidence.is_confirmed,
        "confirmation": _confirmation(evidence.confirmation, evidence.attempts),
    }


def _cache_saving(saving: CacheSaving) -> Json:
    return {
        "accepted_builds": saving.accepted_builds,
        "accepted_s": rounded(saving.accepted_s),
        "other_builds": saving.other_builds,
        "other_s": rounded(saving.other_s),
    }


def _confirmation(confirmation: Confirmation | None, attempts: Sequence[Confirmation]) -> Json | None:
    if confirmation is None:
        return None
    told = _attempt(confirmation)
    return {
        **{name: told[name] for name in ("predicted", "confirmed", "reason")},
        "attempts": [_attempt(one) for one in attempts],
    }


def _attempt(one: Confirmation) -> Json:
    return {
        "opts": [opt.as_dict() for opt in one.opts],
        "predicted": rounded(one.predicted),
        "confirmed": None if one.confirmed is None else rounded(one.confirmed),
        "reason": one.reason,
    }


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
