"""Sizes are valid from birth."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import sizes
from tuner.axes import Size
from tuner.errors import TunerError


@given(sizes())
def test_a_size_reads_back_from_its_text(size: Size) -> None:
    assert Size.parse(str(size)) == size


def test_work_is_the_product_of_the_axes() -> None:
    assert Size.of(batch=4, seq=128).work == 512


def test_zero_is_legal() -> None:
    assert Size.of(past=0).work == 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"batch": -1}, "axis batch is -1; 0 to 2147483647"),
        ({"batch": 2**31}, "axis batch is 2147483648"),
        ({"batch": 1.0}, "axis batch is 1.0; a size holds whole numbers"),
        ({"batch": True}, "axis batch is True; a size holds whole numbers"),
    ],
)
def test_a_size_that_no_tensor_can_have_is_refused(values: dict[str, int], said: str) -> None:
    with pytest.raises(TunerError, match=said):
        Size.of(**values)


@pytest.mark.parametrize("text", ["", "batch", "batch=", "batch=x", "batch=4;seq=1", "batch=-1"])
def test_unreadable_text_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(TunerError, match="write it like 'batch=4,seq=128'"):
        Size.parse(text)


def test_an_axis_that_is_missing_or_extra_is_named() -> None:
    with pytest.raises(TunerError, match=r"\['seq'\], but the model has \['batch'\]"):
        Size.from_mapping({"seq": 1}, ("batch",))
