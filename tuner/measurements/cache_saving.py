"""What a timing cache saved: build seconds of engines whose cache TensorRT accepted, against the others."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from tuner.measurements.measurement import BuiltEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSaving:
    """Median seconds of builds with an accepted timing cache and of builds with none, and how many."""

    accepted_builds: int
    accepted_s: float
    other_builds: int
    other_s: float


def cache_saving(engines: Iterable[BuiltEngine]) -> CacheSaving | None:
    """None where no build had its cache accepted, or none did without.

    Counted are engines of one profile, since several take longer anyway. A build whose cache was refused
    does without; one that says nothing of a cache is left out.
    """
    accepted: list[float] = []
    others: list[float] = []
    for engine in engines:
        if engine.build_s is None or engine.timing_cache is None or len(engine.spec.profiles) != 1:
            continue
        (accepted if engine.timing_cache == "accepted" else others).append(engine.build_s)
    if not accepted or not others:
        return None
    return CacheSaving(
        accepted_builds=len(accepted),
        accepted_s=statistics.median(accepted),
        other_builds=len(others),
        other_s=statistics.median(others),
    )
