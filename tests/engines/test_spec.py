"""The key of an engine changes with everything that makes two engines incomparable."""

from __future__ import annotations

import dataclasses

import pytest

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment
from tuner.errors import TunerError
from tuner.profiles.profile import OptimizationProfile, ProfileSet


def profile_set(opt: int) -> ProfileSet:
    return ProfileSet((OptimizationProfile(Size.of(n=1), Size.of(n=opt), Size.of(n=8)),))


SPEC = EngineSpec(
    model_hash="abc",
    profiles=profile_set(4),
    precision="fp16",
    builder_options="defaults",
    environment=Environment(gpu="H200", tensorrt="8.6", driver="580", cuda="13", clock_policy="free"),
)


def test_equal_specs_have_equal_keys() -> None:
    assert dataclasses.replace(SPEC).key == SPEC.key


@pytest.mark.parametrize(
    "change",
    [
        {"model_hash": "abd"},
        {"profiles": profile_set(5)},
        {"precision": "fp32"},
        {"builder_options": "level 5"},
        *(
            {"environment": dataclasses.replace(SPEC.environment, **{field.name: "other"})}
            for field in dataclasses.fields(Environment)
        ),
    ],
    ids=str,
)
def test_each_field_changes_the_key(change: dict[str, object]) -> None:
    assert dataclasses.replace(SPEC, **change).key != SPEC.key


def test_a_spec_without_a_model_hash_cannot_be_made() -> None:
    with pytest.raises(TunerError, match="needs the hash of its model"):
        dataclasses.replace(SPEC, model_hash="")
