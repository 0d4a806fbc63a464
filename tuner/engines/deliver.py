"""Builds the engine that goes to production, beside a file with its digest and the exact settings."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from tuner.engines.builder import Builder, BuildJob, BuiltPlan
from tuner.engines.plan_file import write_whole
from tuner.engines.spec import EngineSpec, profiles_as_lists


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A built engine with the file that describes it."""

    built: BuiltPlan
    facts_path: Path


def deliver(builder: Builder, spec: EngineSpec, job: BuildJob) -> Delivery:
    """Write the plan of a job and its facts to a `.json` beside it.

    Raises BuildFailed where there is no engine, and then writes neither.
    """
    built = builder.build(job)
    out = Path(job.plan_path)
    facts_path = out.with_name(f"{out.name}.json")
    write_whole(facts_path, (json.dumps(_facts(spec, built, out), indent=2) + "\n").encode())
    return Delivery(built=built, facts_path=facts_path)


def _facts(spec: EngineSpec, built: BuiltPlan, out: Path) -> dict[str, Any]:
    return {
        "plan": out.name,
        "sha256": built.plan_digest,
        "bytes": built.plan_bytes,
        "model_sha256": spec.model_hash,
        "profiles": profiles_as_lists(spec.profiles),
        "precision_asked": spec.precision,
        "precision": built.precision,
        "builder_options": json.loads(spec.builder_options),
        "workspace_bytes": built.workspace_bytes,
        "environment": dataclasses.asdict(spec.environment),
        "profiles_read_from": built.profiles_read_from,
        "device_memory_bytes": built.device_memory_bytes,
        "build_s": round(built.build_s, 2),
        "timing_cache": built.timing_cache,
        "warnings": list(built.warnings),
    }
