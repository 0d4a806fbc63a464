"""A timing cache's saving is claimed only where TensorRT took the cache."""

from __future__ import annotations

import dataclasses

import pytest

from tests.measurements.recorded_files import engine, profile
from tuner.measurements.cache_saving import CacheSaving, cache_saving
from tuner.measurements.measurement import BuiltEngine
from tuner.profiles.profile import ProfileSet


def built(state: str | None, seconds: float) -> BuiltEngine:
    return dataclasses.replace(engine(4).engine, timing_cache=state, build_s=seconds)


def test_saving_is_the_accepted_builds_against_the_others() -> None:
    builds = [built("none", 30.0), built("refused: mismatch", 34.0), built("accepted", 9.0)]
    assert cache_saving(builds) == CacheSaving(
        accepted_builds=1, accepted_s=9.0, other_builds=2, other_s=32.0
    )


@pytest.mark.parametrize(
    "states", [("none", "none"), ("refused: mismatch", "none"), ("accepted", None), ("accepted", "accepted")]
)
def test_nothing_is_claimed_without_both_kinds_of_build(states: tuple[str | None, ...]) -> None:
    assert cache_saving([built(state, 10.0) for state in states]) is None


def test_engines_of_several_profiles_do_not_count() -> None:
    several = built("none", 99.0)
    spec = dataclasses.replace(several.spec, profiles=ProfileSet((profile(2), profile(4))))
    assert cache_saving([dataclasses.replace(several, spec=spec), built("accepted", 9.0)]) is None
