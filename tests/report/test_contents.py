"""Tables and numbers of the report."""

from __future__ import annotations

import pytest

from tuner.errors import TunerError
from tuner.report.contents import Column, Table, number_column, table


def test_a_column_shows_its_largest_number_to_four_digits() -> None:
    assert number_column("ms", [0.12345, 0.7]).digits == 4
    assert number_column("ms", [12.345, 0.7]).digits == 2
    assert number_column("1/s", [123456.7]).digits == 0


def test_whole_numbers_have_no_decimals() -> None:
    assert number_column("rows", [1, 20_000, None]).text(20_000) == "20,000"


def test_shares_and_gains_are_percentages_and_gains_carry_their_sign() -> None:
    assert Column("a", "share", 1).text(0.1234) == "12.3 %"
    assert Column("a", "gain", 1).text(0.1234) == "+12.3 %"
    assert Column("a", "gain", 1).text(-0.5) == "-50.0 %"


def test_what_is_not_known_is_shown_so() -> None:
    assert Column("a", "share", 1).text(None) == "-"


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        table("t", "T", {"a": ("number", [1, 2]), "b": ("number", [1])})


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(TunerError, match="a row has 2 cells for 1"):
        Table("t", "T", (Column("a"),), (("x", "y"),))
