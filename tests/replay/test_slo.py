"""Tests of limits: how they read, in which units, and what cannot be read."""

from __future__ import annotations

import pytest

from tuner.errors import UsageError
from tuner.replay.slo import Slo, parse_slo


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("service_p99<=5ms", Slo("service_p99", 5.0)),
        ("service_p50 <= 0.5 s", Slo("service_p50", 500.0)),
        ("gpu_time<=250us", Slo("gpu_time", 0.25)),
        ("device_memory<=2GiB", Slo("device_memory", 2.0**31)),
        ("build_time<=10min", Slo("build_time", 600.0)),
    ],
)
def test_a_limit_reads_in_milliseconds_bytes_or_seconds(text: str, expected: Slo) -> None:
    assert parse_slo(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("service_p99", "write it like --slo 'service_p99<=5ms'"),
        ("service_p99>=5ms", "cannot be read"),
        ("service_p99<=-5ms", "cannot be read"),
        ("service_p98<=5ms", "did you mean 'service_p99'"),
        ("service_p99<=5GiB", "has the unit 'GiB'; service_p99 accepts us, ms, s"),
        ("build_time<=0s", "allows nothing"),
    ],
)
def test_a_limit_that_cannot_be_read_says_how_to_write_it(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_slo(text)


def test_a_limit_prints_with_its_unit() -> None:
    assert str(Slo("device_memory", 1024.0)) == "device_memory<=1024B"
