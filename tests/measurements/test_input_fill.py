"""Tests of the values that inputs are filled with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.models import save
from tuner.measurements.input_fill import InputFill, fill_for
from tuner.onnx_file import read_onnx

FILL = InputFill({"ids": 100})


def test_indices_stay_inside_their_table() -> None:
    for dtype in ("int32", "int64"):
        ids = FILL.array("ids", dtype, (64, 64))
        assert ids.dtype == dtype
        assert 0 <= ids.min() < ids.max() < 100


def test_other_whole_numbers_are_ones() -> None:
    assert (FILL.array("mask", "int64", (4, 4)) == 1).all()
    assert FILL.array("flag", "bool", (2,)).all()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_floats_are_spread_and_never_all_zero(dtype: str) -> None:
    values = FILL.array("x", dtype, (1000,))
    assert values.dtype == dtype
    assert 0.8 < values.std() < 1.2


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    half = FILL.array("x", "bfloat16", (1000,))
    back = (half.astype(np.uint32) << 16).view(np.float32)
    assert 0.8 < back.std() < 1.2


def test_same_name_and_seed_give_the_same_values() -> None:
    assert (FILL.array("x", "float32", (8,)) == FILL.array("x", "float32", (8,))).all()
    assert (FILL.array("x", "float32", (8,)) != InputFill({}, seed=1).array("x", "float32", (8,))).any()


def test_text_names_the_fill_and_fits_its_column() -> None:
    many = InputFill({f"input_{i}": 30522 for i in range(50)})
    assert FILL.text != InputFill({"ids": 101}).text != InputFill({"ids": 100}, seed=1).text
    assert len(many.text) <= 64


def test_index_inputs_are_found_in_the_model(tmp_path: Path) -> None:
    path = save("tiny_encoder", tmp_path / "m.onnx")
    assert fill_for(read_onnx(path), path).index_limits == {"input_ids": 100}
