"""Times of any dress."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.logs.times import NO_TIME, microseconds, parse_time, read_times, to_datetime

MAY = 1_714_521_600  # 2024-05-01T00:00:00Z
MAY_US = MAY * 1_000_000


@pytest.mark.parametrize(
    "value",
    [
        MAY,
        MAY * 1000,
        MAY * 10**6,
        MAY * 10**9,
        float(MAY),
        str(MAY),
        f"{MAY}.0",
        "2024-05-01T00:00:00Z",
        "2024-05-01T02:00:00+02:00",
        "2024-05-01T02:00:00+0200",
        "2024-05-01 00:00:00",
        "2024-05-01T00:00",
        "2024-05-01",
        "2024-05-01T00:00:00.0000000",
        "2024-05-01 00:00:00.000000 UTC",
    ],
)
def test_every_dress_of_one_moment_is_that_moment(value: Any) -> None:
    assert read_times([value]).us.tolist() == [MAY_US]


@pytest.mark.parametrize(
    "value", ["not a time", "2024-13-01", True, [1], 10**30, float("nan"), "nan", "snan", "1e400"]
)
def test_what_is_no_time_is_counted_and_has_none(value: Any) -> None:
    times = read_times([value])

    assert times.us.tolist() == [NO_TIME]
    assert times.unreadable_count == 1


def test_a_null_time_is_not_unreadable() -> None:
    for column in ([None], pa.array([None], pa.int64()), pa.array([None], pa.string()), pa.nulls(1)):
        times = read_times(column)
        assert times.us.tolist() == [NO_TIME]
        assert times.unreadable_count == 0


def test_the_unit_is_decided_value_by_value_and_named() -> None:
    times = read_times(pa.array([MAY, MAY * 1000]))

    assert times.us.tolist() == [MAY_US, MAY_US]
    assert times.units == {"s", "ms"}


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_forced_unit_holds_for_small_numbers_too(unit: str) -> None:
    per_second = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]

    for column in (
        pa.array([per_second]),
        pa.array([float(per_second)]),
        [per_second],
        pa.array([str(per_second)]),
    ):
        assert read_times(column, unit).us.tolist() == [1_000_000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_timestamps_of_every_unit_and_zone_are_exact(unit: str, zone: str | None) -> None:
    moment = datetime(2024, 5, 1, tzinfo=UTC) if zone else datetime(2024, 5, 1)

    times = read_times(pa.array([moment, None], pa.timestamp(unit, zone)))

    assert times.us.tolist() == [MAY_US, NO_TIME]
    assert times.has_zoneless is (zone is None)


def test_nanoseconds_are_cut_to_microseconds() -> None:
    assert read_times(pa.array(["2023-11-16 18:15:46.6805909"])).us.tolist() == [1_700_158_546_680_590]


def test_texts_with_and_without_zone_may_be_mixed() -> None:
    times = read_times(pa.array(["2024-05-01T00:00:00Z", "2024-05-01 00:00:00", "", None, "x"]))

    assert times.us.tolist() == [MAY_US, MAY_US, NO_TIME, NO_TIME, NO_TIME]
    assert times.has_zoneless


def test_dates_and_dictionaries_are_times() -> None:
    assert read_times(pa.array([datetime(2024, 5, 1, tzinfo=UTC).date()])).us.tolist() == [MAY_US]
    assert read_times(pa.array(["2024-05-01T00:00:00Z"]).dictionary_encode()).us.tolist() == [MAY_US]


@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)))
def test_a_moment_survives_text_and_back(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC)

    us = read_times(pa.array([moment.isoformat()])).us[0]

    assert us == microseconds(moment)
    assert to_datetime(int(us)) == moment
    assert read_times([moment.isoformat()]).us[0] == us


@given(st.lists(st.integers(MAY, MAY + 10**8), min_size=1))
def test_arrays_and_lists_give_the_same_times(seconds: list[int]) -> None:
    assert np.array_equal(read_times(pa.array(seconds)).us, read_times(list(seconds)).us)


def test_an_option_that_is_no_time_says_what_is_accepted() -> None:
    with pytest.raises(TunerError, match="--since is 'soon'; accepted are times like 2024-05-01T12:00:00Z"):
        parse_time("soon", "--since")


@pytest.mark.parametrize(
    "column",
    [
        ["0001-01-01T00:00:00Z"],
        ["9999-12-31T23:59:59-05:00"],
        [-(10**11) + 1],
        [-9e10],
        pa.array([-(10**11) + 1]),
        pa.array([-9e10]),
        pa.array(["0001-01-01T00:00:00Z"]),
        *(pa.array([ticks], pa.timestamp("us")) for ticks in (-(2**62), 2**60, -62_135_596_800_000_000)),
        *(pa.array([ticks], pa.timestamp("s")) for ticks in (-(2**62), 2**60)),
    ],
)
def test_a_time_outside_of_the_years_1000_to_9999_is_none(column: Any) -> None:
    times = read_times(column)

    assert times.us.tolist() == [NO_TIME]
    assert times.unreadable_count == 1


def test_times_out_of_range_leave_the_others_and_the_nulls_alone() -> None:
    times = read_times(pa.array([MAY_US, None, 2**60, -(2**62)], pa.timestamp("us", "UTC")))

    assert times.us.tolist() == [MAY_US, NO_TIME, NO_TIME, NO_TIME]
    assert times.unreadable_count == 2
