"""Recorded curves answer as the GPU did."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.measurements.recorded_files import MODEL, SIZES, engine, latency_ms, profile
from tuner.engines.spec import Environment
from tuner.errors import TunerError
from tuner.measurements.measurement import BuiltEngine, Mode
from tuner.measurements.recorded import RecordedSource, size_change_ms, switch_ms
from tuner.measurements.source import FailedProfile, MeasuredProfile

ROWS = np.array([[n] for n in SIZES])


def latencies(source: RecordedSource, opt: int) -> list[float]:
    measured = source.measure(profile(opt), ROWS)
    assert isinstance(measured, MeasuredProfile)
    return [float(v) for v in measured.curve(Mode.ENQUEUE).latencies(ROWS)[0]]


def test_a_recorded_profile_has_the_recorded_latencies() -> None:
    source = RecordedSource(MODEL, [engine(4)])
    assert latencies(source, 4) == [latency_ms(4, n) for n in SIZES]


def test_several_builds_of_a_profile_count_by_their_median() -> None:
    builds = [engine(4), engine(4, factor=1.1), engine(4, factor=3.0)]
    assert latencies(RecordedSource(MODEL, builds), 4) == pytest.approx(
        [1.1 * latency_ms(4, n) for n in SIZES]
    )


def test_a_narrower_profile_takes_the_curve_of_the_recorded_one_around_it() -> None:
    measured = RecordedSource(MODEL, [engine(4)]).measure(profile(4, low=2, high=4), ROWS)
    assert isinstance(measured, MeasuredProfile)
    assert measured.profile == profile(4)


@pytest.mark.parametrize("wanted", [profile(2), profile(4, high=9)])
def test_what_was_not_recorded_is_a_failure_with_a_reason(wanted: object) -> None:
    outcome = RecordedSource(MODEL, [engine(4)]).measure(wanted, ROWS)  # type: ignore[arg-type]
    assert isinstance(outcome, FailedProfile)
    assert outcome.kind == "not_recorded"


def test_a_mode_that_was_not_timed_says_which_were() -> None:
    measured = RecordedSource(MODEL, [engine(4)]).measure(profile(4), ROWS)
    assert isinstance(measured, MeasuredProfile)
    with pytest.raises(TunerError, match=r"timed in the modes \['enqueue'\], not in 'cuda_graph'"):
        measured.curve(Mode.CUDA_GRAPH)


def test_engines_of_different_gpus_are_never_mixed() -> None:
    other = engine(2, environment=Environment(gpu="Other GPU", tensorrt="8.6.0"))
    with pytest.raises(TunerError, match="come from 2 environments"):
        RecordedSource(MODEL, [engine(1), other])


def test_nothing_recorded_is_an_error() -> None:
    with pytest.raises(TunerError, match="no engine of small with a single profile"):
        RecordedSource(MODEL, [])


def changing(size_ms: float | None, profile_ms: float | None) -> BuiltEngine:
    return dataclasses.replace(engine(1).engine, size_change_ms=size_ms, profile_change_ms=profile_ms)


def test_a_change_of_profile_costs_what_it_adds_in_its_own_engine() -> None:
    alone, slow = changing(0.1, None), changing(0.3, 0.35)

    assert size_change_ms([alone, alone, slow]) == pytest.approx(0.1)
    assert switch_ms([alone, alone, slow]) == pytest.approx(0.15)


def test_a_change_of_profile_never_costs_less_than_one_of_size() -> None:
    assert switch_ms([changing(0.1, None), changing(0.3, 0.2), changing(0.1, None)]) == pytest.approx(0.1)


def test_a_change_of_profile_may_be_all_that_is_known() -> None:
    assert switch_ms([changing(None, 0.2)]) == 0.2
    assert switch_ms([changing(0.1, None)]) is None
