"""Reads records out of a document's JSON: profiles, sets and the histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.report.contents import Json

# How an objective reads in a sentence, and what its unit is.
OBJECTIVES = {
    "gpu_time": ("GPU time per request", "ms"),
    "service_p50": ("P50 service time", "ms"),
    "service_p90": ("P90 service time", "ms"),
    "service_p99": ("P99 service time", "ms"),
    "response_p50": ("P50 response time", "ms"),
    "response_p90": ("P90 response time", "ms"),
    "response_p99": ("P99 response time", "ms"),
    "goodput": ("goodput", "requests/s"),
    "capacity": ("capacity", "requests/s"),
}
HIGHER_IS_BETTER = ("goodput", "capacity")


def objective_of(document: Json) -> tuple[str, str]:
    """Words and unit of the document's objective."""
    expected = document.get("expected") or {}
    name = expected.get("objective", "gpu_time")
    words, unit = OBJECTIVES.get(name, (name, expected.get("unit") or "ms"))
    if name == "gpu_time" and expected.get("weight") == "work":
        words = "GPU time per unit of work"
    return words, unit


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A profile set of the document under the name it is shown by; `facts` is its JSON."""

    name: str
    profiles: ProfileSet
    facts: Json
    judged_at: str | None = None


def profile_of(described: Json, axes: Sequence[str]) -> OptimizationProfile:
    bounds = (Size.from_mapping(described[bound], axes) for bound in ("min", "opt", "max"))
    return OptimizationProfile(*bounds)


def profile_set(described: Sequence[Json], axes: Sequence[str]) -> ProfileSet:
    return ProfileSet(tuple(profile_of(one, axes) for one in described))


def axes_of(document: Json) -> tuple[str, ...]:
    return tuple(document["traffic"]["histogram"]["axes"])


def sets_of(document: Json) -> Iterator[NamedSet]:
    """The recommended set, the deployed one, a candidate that was not taken, and every rule."""
    axes = axes_of(document)
    expected = document.get("expected") or {}
    yield NamedSet("recommended", profile_set(document["profiles"], axes), expected)
    for name, found in (("deployed", expected.get("deployed")), ("candidate", document.get("candidate"))):
        if found and found.get("profiles"):
            yield NamedSet(name, profile_set(found["profiles"], axes), found)
    for name, rule in (expected.get("rules") or {}).items():
        yield NamedSet(f"rule {name}", profile_set(rule["profiles"], axes), rule, rule.get("judged_at"))


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Sizes of shape (sizes, axes) with their rows, shape (sizes,); the rest is summed up in buckets."""

    axes: tuple[str, ...]
    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]
    is_bucket: NDArray[np.bool_]

    @property
    def shares(self) -> NDArray[np.float64]:
        return np.asarray(self.counts / max(1, int(self.counts.sum())))

    def listed(self) -> NDArray[np.bool_]:
        return ~self.is_bucket


def histogram_of(document: Json) -> Histogram:
    """The document's histogram; a bucket counts at its upper bound."""
    found = document["traffic"]["histogram"]
    axes = tuple(found["axes"])
    listed, rest = found["sizes"], found["rest"]
    rows = np.array([*listed, *rest], dtype=np.int64).reshape(-1, len(axes) + 1)
    is_bucket = np.array([False] * len(listed) + [True] * len(rest), dtype=bool)
    return Histogram(axes, rows[:, :-1], rows[:, -1], is_bucket)
