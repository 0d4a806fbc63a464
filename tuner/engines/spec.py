"""What makes two engines, and so two measurements, comparable: one record, hashed in one place."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.profiles.profile import ProfileSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where an engine was built and timed; None is a fact that is not known.

    `flavour` is `tensorrt` or `tensorrt_rtx`; `clock_policy` says in words whether clocks were locked.
    """

    gpu: str
    tensorrt: str
    flavour: str = "tensorrt"
    driver: str | None = None
    cuda: str | None = None
    clock_policy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """One engine to build: model, profiles, what the builder is told, and where.

    `model_hash` is the model's content hash (hex), `builder_options` a canonical text of everything but
    the precision that the builder was told.
    """

    model_hash: str
    profiles: ProfileSet
    precision: str
    builder_options: str
    environment: Environment

    def __post_init__(self) -> None:
        if not self.model_hash:
            raise TunerError("an engine needs the hash of its model; nothing could be compared without")

    @property
    def key(self) -> str:
        """Hex digest over every field; any two specs that differ have different keys."""
        described = {
            "model": self.model_hash,
            "profiles": profiles_as_lists(self.profiles),
            "precision": self.precision,
            "builder_options": self.builder_options,
            "environment": dataclasses.asdict(self.environment),
        }
        return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:32]


def profiles_as_lists(profiles: ProfileSet) -> list[dict[str, dict[str, int]]]:
    """The profiles as JSON-ready values: a list of min, opt and max per axis."""
    return [{"min": p.min.as_dict(), "opt": p.opt.as_dict(), "max": p.max.as_dict()} for p in profiles]
