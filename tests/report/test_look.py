"""The parts of the look: bars, sparklines, gains and tables."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tuner.report.look import bar, gain_text, plain_table, sparkline

shares = st.floats(0, 1)


@given(shares, shares)
def test_a_larger_share_never_has_a_shorter_bar(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert len(bar(low)) <= len(bar(high)) <= 20


@given(st.floats(1e-12, 1))
def test_whatever_is_there_is_seen(share: float) -> None:
    assert bar(share)
    assert bar(0.0) == ""


@given(st.lists(st.floats(0, 1e9), max_size=50))
def test_a_sparkline_has_one_character_a_value_and_is_highest_at_the_largest(values: list[float]) -> None:
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    if any(values):
        assert drawn[values.index(max(values))] == "█"


@pytest.mark.parametrize(
    ("gain", "interval", "text"),
    [
        (0.339, None, "+33.9%"),
        (-0.05, None, "-5.0%"),
        (0.31, (0.29, 0.33), "+31.0% (29 to 33)"),
        (None, None, "-"),
    ],
)
def test_a_gain_carries_its_sign_and_its_interval(
    gain: float | None, interval: tuple[float, float] | None, text: str
) -> None:
    assert gain_text(gain, interval).plain == text


def test_numbers_are_aligned_and_keep_whole_in_a_narrow_table() -> None:
    table = plain_table("Title", ("name",), ("value",))
    table.add_row("a long name that has to be wrapped somewhere", "12,345.6")
    table.add_row("short", "1.2")
    console = Console(file=io.StringIO(), width=30)
    console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert any(line.rstrip().endswith("12,345.6") for line in lines)
    assert any(line.rstrip().endswith("     1.2") for line in lines)
    assert max(map(len, lines)) <= 30
