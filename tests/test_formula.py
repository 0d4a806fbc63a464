"""Formulas of dimensions: exact, floor semantics, and never code."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.formula import DEEPEST_NESTING, parse_formula


@pytest.mark.parametrize(
    ("text", "seq", "expected"),
    [
        ("2*seq", 16, 32),
        ("floor(seq/2 - 1/2) + 1", 16, 8),
        ("floor(seq/2 - 1/2) + 1", 33, 17),
        ("ceil(seq / 3)", 10, 4),
        ("(seq + 1) // 2 * 2", 5, 6),
        ("seq % 4", 10, 2),
        ("max(seq, 8) - min(seq, 8)", 3, 5),
        ("512 - seq", 12, 500),
        ("-seq + 20", 5, 15),
        ("seq//2//2", 9, 2),
    ],
)
def test_a_formula_has_the_value_of_its_arithmetic(text: str, seq: int, expected: int) -> None:
    assert parse_formula(text).evaluate({"seq": seq}) == expected


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_floor_division_rounds_down_for_negative_values_too(value: int, divisor: int) -> None:
    shifted = parse_formula(f"(x - 1000000) // {divisor} + 2000000")
    assert shifted.evaluate({"x": value + 1_000_000}) == math.floor(value / divisor) + 2_000_000


def test_axes_are_named_in_the_order_of_their_first_use() -> None:
    assert parse_formula("past + seq*2 + past").axes == ("past", "seq")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seq +",
        "(seq",
        "seq)",
        "2 ** seq",
        "import os",
        "a.b(c)",
        "seq; 1",
        "f(seq)",
        "floor(1, 2)",
        "1 2",
    ],
)
def test_unreadable_text_is_an_error_that_says_what_is_accepted(text: str) -> None:
    with pytest.raises(TunerError, match="accepted are axis names, whole numbers"):
        parse_formula(text)


def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack() -> None:
    with pytest.raises(TunerError, match=f"nests deeper than {DEEPEST_NESTING}"):
        parse_formula("(" * 100 + "seq" + ")" * 100)


def test_a_very_long_formula_is_refused() -> None:
    with pytest.raises(TunerError, match="512 at most"):
        parse_formula("seq" + " + seq" * 200)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seq/2", "is 1/2 at seq=1, not whole"),
        ("seq - 2", "is -1 at seq=1, below zero"),
        ("1//(seq-1)", "by zero"),
    ],
)
def test_a_value_that_is_no_dimension_is_an_error(text: str, said: str) -> None:
    with pytest.raises(TunerError, match=said):
        parse_formula(text).evaluate({"seq": 1})


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    try:
        formula = parse_formula(text)
    except TunerError:
        return
    assert formula.text == text.strip()


PIECES = st.sampled_from(
    [*"()+-*/, ", "floor", "ceil", "max", "min", "seq", "past", "2", "10", "0", "1.5", "%"]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60))
def test_any_text_is_a_formula_or_is_refused_in_one_line(text: str) -> None:
    problem = ""
    try:
        formula = parse_formula(text)
        formula.evaluate(dict.fromkeys(formula.axes, 7))
    except TunerError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1, problem


@pytest.mark.parametrize(
    "deep", ["(" * 5000 + "seq" + ")" * 5000, "-" * 5000 + "seq", "floor(" * 5000, "1+" * 5000]
)
def test_depth_without_end_is_refused_and_never_overflows(deep: str) -> None:
    with pytest.raises(TunerError, match=r".") as caught:
        parse_formula(deep).evaluate({"seq": 7})
    assert len(str(caught.value).splitlines()) == 1
