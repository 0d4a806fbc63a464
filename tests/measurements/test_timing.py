"""Tests of when sampling stops and what is made of the samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.measurements.timing import (
    SamplingRule,
    median_half_width,
    median_interval,
    percentile,
    sample,
    summarise,
    warm_up,
)

STEADY = [5.0, 5.2, 5.1]


def test_two_modes_keep_their_slow_samples() -> None:
    samples = [2.0] * 990 + [70.0] * 10
    summary = summarise(samples)
    assert (summary.p50_ms, summary.p99_ms) == (2.0, 2.0)
    assert percentile(samples, 99.5) == 70.0
    assert summary.mean_ms == pytest.approx(2.68)


def test_percentile_is_an_observed_sample() -> None:
    assert summarise(STEADY).p50_ms == 5.1
    assert summarise(STEADY).p99_ms == 5.2


@given(
    st.lists(st.floats(0.001, 1000), min_size=1, max_size=60), st.sampled_from([1.0, 50.0, 90.0, 99.0, 100.0])
)
def test_percentiles_are_numpys_inverted_cdf(samples: list[float], percent: float) -> None:
    assert percentile(samples, percent) == np.quantile(samples, percent / 100, method="inverted_cdf")


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=60))
def test_interval_holds_the_median(samples: list[float]) -> None:
    low, high = median_interval(samples)
    assert low <= percentile(samples, 50) <= high


def test_few_samples_have_the_whole_range_as_interval() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_sampling_stops_as_soon_as_the_median_is_known() -> None:
    taken = sample(lambda count: [1.0] * count, SamplingRule(min_samples=20))
    assert taken.is_precise
    assert len(taken.samples_ms) == 20


def test_noise_costs_more_samples_up_to_the_cap() -> None:
    random = np.random.default_rng(0)
    rule = SamplingRule(min_samples=20, max_samples=100, max_ms=1e9)
    taken = sample(lambda count: list(random.uniform(1, 3, count)), rule)
    assert not taken.is_precise
    assert len(taken.samples_ms) == 100


def test_long_inferences_stop_at_the_time_cap() -> None:
    random = np.random.default_rng(0)
    rule = SamplingRule(min_samples=5, block=5, max_ms=1000)
    taken = sample(lambda count: list(random.uniform(100, 300, count)), rule)
    assert sum(taken.samples_ms) < 3000


def test_precise_samples_are_within_the_precision_asked_for() -> None:
    random = np.random.default_rng(1)
    taken = sample(lambda count: list(random.normal(1, 0.02, count)), SamplingRule(precision=0.005))
    assert taken.is_precise
    assert median_half_width(taken.samples_ms) <= 0.005


def test_warm_up_ends_when_blocks_agree() -> None:
    falling = iter([9.0, 9.0, 9.0, 9.0, 6.0, 6.0, 6.0, 6.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
    assert warm_up(lambda count: [next(falling) for _ in range(count)], SamplingRule()) == 16


def test_warm_up_that_never_settles_is_capped() -> None:
    random = np.random.default_rng(0)
    rule = SamplingRule(warmup_blocks=3)
    assert warm_up(lambda count: list(random.uniform(1, 100, count)), rule) == 12


def test_no_samples_are_an_error() -> None:
    with pytest.raises(TunerError, match="no samples were taken"):
        summarise([])


def test_rule_without_samples_is_refused() -> None:
    with pytest.raises(TunerError, match="0 to 1000 samples"):
        SamplingRule(min_samples=0)
