"""Whole numbers out of columns of any type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.logs.numbers import Limits, whole_number, whole_numbers
from tuner.logs.reasons import FINE, REASONS

LIMITS = Limits()


def judged(value: Any, limits: Limits = LIMITS) -> int | str:
    number, code = whole_number(value, limits)
    return number if code == FINE else REASONS[code - 1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (128, 128),
        (128.0, 128),
        ("128", 128),
        (" 128 ", 128),
        ("128.0", 128),
        ("1e2", 100),
        (Decimal("7"), 7),
        (2**31 - 1, 2**31 - 1),
        (None, "missing"),
        ("", "missing"),
        ("null", "missing"),
        ("many", "not_a_number"),
        ("0x10", "not_a_number"),
        ("1_000", "not_a_number"),
        ("\u0661\u0662", "not_a_number"),
        (True, "not_a_number"),
        ([1], "not_a_number"),
        ({"a": 1}, "not_a_number"),
        (float("nan"), "not_finite"),
        ("-Infinity", "not_finite"),
        (64.5, "not_whole"),
        ("0.5", "not_whole"),
        (-0.5, "not_whole"),
        (0, "not_positive"),
        (-3, "not_positive"),
        (2**31, "too_large"),
        (10**24, "too_large"),
        ("1e9999", "too_large"),
        (1e300, "too_large"),
    ],
)
def test_a_value_is_a_whole_number_or_has_one_reason(value: Any, expected: int | str) -> None:
    assert judged(value) == expected


def test_zero_counts_where_it_is_allowed() -> None:
    assert judged(0, Limits(least=0)) == 0


def columns_of(values: list[Any]) -> list[pa.Array]:
    """The same values in every Arrow type that holds them."""
    texts = [None if v is None else str(v) for v in values]
    columns = [pa.array(texts, kind) for kind in (pa.string(), pa.large_string())]
    columns.append(columns[0].dictionary_encode())
    columns.append(pa.array([None if t is None else t.encode() for t in texts], pa.binary()))
    floats = [None if v is None else float(v) for v in values]
    columns.append(pa.array(floats, pa.float64()))
    if all(v is None or (float(v).is_integer() and abs(v) < 2**62) for v in values):
        integers = [None if v is None else int(v) for v in values]
        columns += [pa.array(integers, pa.int64()), pa.array(integers, pa.decimal128(30, 0))]
        if all(v is None or 0 <= v < 2**31 for v in values):
            columns += [pa.array(integers, pa.uint64()), pa.array(integers, pa.int32())]
    return columns


@given(
    st.lists(
        st.none()
        | st.integers(-(2**40), 2**40)
        | st.sampled_from([0, 1, 2**31 - 1, 2**31, 0.5, -0.5, float("nan"), float("inf")])
    )
)
def test_every_type_of_column_gives_what_its_values_give(values: list[Any]) -> None:
    expected = [whole_number(value, LIMITS) for value in values]

    for column in columns_of(values) if values else []:
        numbers, codes = whole_numbers(column, LIMITS)
        found = [FINE] * len(values) if codes is None else codes.tolist()
        assert list(zip(numbers.tolist(), found, strict=True)) == expected, column.type


def test_unsigned_sentinels_do_not_turn_negative() -> None:
    numbers, codes = whole_numbers(pa.array([128, 2**64 - 1], pa.uint64()), LIMITS)

    assert numbers[0] == 128
    assert codes is not None
    assert REASONS[codes[1] - 1] == "too_large"


def test_a_null_column_misses_every_value() -> None:
    _, codes = whole_numbers(pa.nulls(3), LIMITS)

    assert codes is not None
    assert {REASONS[code - 1] for code in codes} == {"missing"}


@pytest.mark.parametrize("column", [pa.array([True]), pa.array([[1]]), pa.array([{"a": 1}])])
def test_what_is_no_number_at_all_is_not_a_number(column: pa.Array) -> None:
    _, codes = whole_numbers(column, LIMITS)

    assert codes is not None
    assert REASONS[codes[0] - 1] == "not_a_number"


def test_hexadecimal_texts_are_no_numbers_in_any_company() -> None:
    numbers, codes = whole_numbers(pa.array(["16", "0x10"]), LIMITS)

    assert codes is not None
    assert (numbers[0], codes[0], REASONS[codes[1] - 1]) == (16, FINE, "not_a_number")
