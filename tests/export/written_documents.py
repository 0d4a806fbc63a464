"""Documents as tests write them: a model and its profiles in the schema's form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tuner.axes import Size
from tuner.formula import axis_dimension
from tuner.model import Model, OutputSpec, TensorSpec
from tuner.model_inputs import model_as_dict
from tuner.profiles.profile import OptimizationProfile, TensorRange
from tuner.recommendation.json_place import Place
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import document_at

AXES = ("batch", "seq")


def encoder() -> Model:
    """Two int64 inputs that share both axes, and an output with the batch in front."""
    dims = (axis_dimension("batch"), axis_dimension("seq"))
    inputs = (TensorSpec("input_ids", "int64", dims), TensorSpec("attention_mask", "int64", dims))
    return Model("encoder", inputs, (OutputSpec("hidden", "float32", ("batch", "seq", 768)),), "abc")


def one(low: Sequence[int], opt: Sequence[int], high: Sequence[int], axes: tuple[str, ...] = AXES) -> Any:
    return OptimizationProfile(*(Size(axes, tuple(values)) for values in (low, opt, high)))


THREE = (
    one((1, 16), (4, 32), (4, 64)),
    one((32, 128), (64, 128), (64, 256)),
    one((1, 16), (64, 512), (64, 512)),
)


def as_json(
    model: Model | None,
    profiles: Sequence[OptimizationProfile],
    *,
    policy: str = "best",
    table: Mapping[Size, int] | None = None,
    alternatives: Mapping[str, Sequence[OptimizationProfile]] | None = None,
    tensorrt: str | None = "10.3.0",
    flavour: str = "tensorrt",
    batcher: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A whole document; `tensorrt=None` makes one by rule."""
    others: dict[str, Any] = dict.fromkeys(("nearest_opt", "profile_zero", "first_fit", "sticky"))
    for name, found in (alternatives or {}).items():
        others[name] = {"profiles": [_bounds(p) for p in found], "tune": None, "holdout": None}
    return {
        "schema_version": 1,
        "decision": "change",
        "reason": "no deployed set",
        "profiles": [
            {
                "index": i,
                **_bounds(p),
                "tensors": _tensors(p.tensor_ranges(model)) if model else None,
                "requests_share": 0.5,
                "work_share": 0.5,
            }
            for i, p in enumerate(profiles)
        ],
        "routing": {
            "policy": policy,
            "table": [{"size": s.as_dict(), "profile": i} for s, i in (table or {}).items()],
        },
        "expected": None,
        "alternatives": others,
        "traffic": _TRAFFIC,
        "batcher": batcher,
        "model": model_as_dict(model) if model else None,
        "evidence": "rule" if tensorrt is None else {**_EVIDENCE, "tensorrt": tensorrt, "flavour": flavour},
        "caveats": [],
    }


def document_of(
    model: Model | None, profiles: Sequence[OptimizationProfile], **facts: Any
) -> ProfileDocument:
    """The same read back, as every command reads it."""
    return document_at(Place(json.loads(json.dumps(as_json(model, profiles, **facts))), "profile.json"))


def write(path: Path, document: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _bounds(profile: OptimizationProfile) -> dict[str, Any]:
    return {"min": profile.min.as_dict(), "opt": profile.opt.as_dict(), "max": profile.max.as_dict()}


def _tensors(ranges: Mapping[str, TensorRange]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, r in ranges.items():
        found[name] = {"min": list(r.min), "opt": list(r.opt), "max": list(r.max)}
        if r.values is not None:
            found[name]["values"] = {bound: list(v) for bound, v in r.values.items()}
    return found


_TRAFFIC = {
    "start": None, "end": None, "log_kind": "batches", "rows": 3, "requests": 3, "distinct_sizes": 3,
    "percentiles": {}, "rejected": {}, "uncovered": None, "notes": [],
    "histogram": {"axes": [], "sizes": [], "rest": []},
}  # fmt: skip
_EVIDENCE = {
    "latencies": "recorded", "gpu": "NVIDIA H200", "driver": None, "cuda": None, "clock_policy": None,
    "precision": "fp16", "builder_options": "", "measured_on": None, "model": None, "model_hash": None,
    "mode": "enqueue", "builds": 1, "measurements": 1, "trials": 1, "failed_trials": {}, "stopped": "done",
    "seed": 0, "confirmed": False,
}  # fmt: skip
