"""The curves behind a document: those of its model and environment, and no others."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.report.documents import Written
from tests.report.reading import curves_of
from tuner.measurements.store import open_store
from tuner.report.document_parts import axes_of, profile_set
from tuner.report.known_curves import curves_in_store


def test_every_recommended_profile_has_its_curve(sample: Written) -> None:
    curves = curves_of(sample)
    for profile in profile_set(sample.document["profiles"], axes_of(sample.document)):
        found = curves.measured(profile)
        assert found is not None
        assert found.profile.opt == profile.opt
        assert found.profile.contains(profile)


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("gpu", "NVIDIA L4"),
        ("tensorrt", "10.0"),
        ("precision", "fp32"),
        ("model_hash", "00"),
        ("model_hash", None),
    ],
)
def test_curves_of_another_environment_or_model_are_never_shown(
    sample: Written, fact: str, value: str
) -> None:
    document = copy.deepcopy(sample.document)
    document["evidence"][fact] = value
    with open_store(sample.store) as store:
        assert curves_in_store(store, document) is None


def test_a_profile_by_rule_rests_on_no_curves(sample: Written) -> None:
    with open_store(sample.store) as store:
        assert curves_in_store(store, {**sample.document, "evidence": "rule"}) is None


def test_a_set_serves_each_size_by_its_best_profile(sample: Written) -> None:
    curves = curves_of(sample)
    profiles = profile_set(sample.document["profiles"], axes_of(sample.document))
    sizes = curves.grid()
    served = curves.served(profiles, sizes)
    assert served is not None
    every = np.stack([curves.measured(p).curve(curves.mode).latencies(sizes)[0] for p in profiles])  # type: ignore[union-attr]
    covering = np.stack([p.covers_rows(sizes) for p in profiles])
    assert np.array_equal(served, np.where(covering, every, np.inf).min(axis=0))
    assert (served >= curves.best(sizes)).all()
