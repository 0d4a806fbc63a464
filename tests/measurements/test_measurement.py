"""A summary is valid from birth."""

from __future__ import annotations

import dataclasses
import math

import pytest

from tests.measurements.recorded_files import summary
from tuner.errors import TunerError


def test_variation_is_standard_deviation_over_mean() -> None:
    assert dataclasses.replace(summary(2.0), std_ms=0.5).variation == 0.25


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p50_ms": math.nan}, "not finite"),
        ({"std_ms": math.inf}, "not finite"),
        ({"min_ms": 0.0}, "do not rise from above zero"),
        ({"p90_ms": 0.5}, "do not rise from above zero"),
        ({"sample_count": 0}, "at least one is needed"),
    ],
)
def test_an_impossible_summary_cannot_be_made(change: dict[str, float], said: str) -> None:
    with pytest.raises(TunerError, match=said):
        dataclasses.replace(summary(1.0), **change)
