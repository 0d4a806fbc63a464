"""Shapes by hand: as a profile of their own, and in place of a document's (case C02 and its kind)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.export.written_documents import THREE, as_json, encoder, one, write
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.formula import axis_dimension, parse_formula
from tuner.model import Model, TensorSpec
from tuner.recommendation.checked_document import read_document
from tuner.recommendation.profile_document import ProfileDocument

HEIGHT, WIDTH = axis_dimension("h"), axis_dimension("w")
IMAGE = Model("image", (TensorSpec("x", "float32", (1, 3, HEIGHT, WIDTH)),))
FIXED = one((512, 512), (512, 512), (512, 512), ("h", "w"))


def changed(
    tmp_path: Path, changes: Any, model: Model | None = IMAGE, profiles: Any = (FIXED,)
) -> ProfileDocument:
    document = write(tmp_path / "profile.json", as_json(model, profiles))
    return read_document(document, changes=write(tmp_path / "change.json", changes))


def test_an_opt_outside_of_the_range_names_input_and_numbers(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="x: breaks min <= opt <= max in dimension 2: 512, 768, 512"):
        changed(tmp_path, {"x": {"opt": [1, 3, 768, 768]}})


@pytest.mark.parametrize("value", [-1, -768])
def test_a_negative_dimension_is_refused(tmp_path: Path, value: int) -> None:
    with pytest.raises(TunerError, match=rf"x.max\[2\] is {value}; a whole number from 0"):
        changed(tmp_path, {"x": {"max": [1, 3, value, 512]}})


def test_a_dimension_that_the_model_fixes_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"x\.min has 2 in dimension 0; the model fixes it at 1"):
        changed(tmp_path, {"x": {b: [2, 3, 512, 512] for b in ("min", "opt", "max")}})


def test_an_unknown_input_is_named_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="there is no input 'X'"):
        changed(tmp_path, {"X": {"opt": [1, 3, 512, 512]}})


def test_an_unknown_bound_is_named(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"x has \['optimum'\]; min, opt, max"):
        changed(tmp_path, {"x": {"optimum": [1, 3, 512, 512]}})


def test_a_change_that_fits_is_taken(tmp_path: Path) -> None:
    document = changed(tmp_path, {"x": {"opt": [1, 3, 768, 640], "max": [1, 3, 1024, 1024]}})
    assert document.profiles[0].range == one((512, 512), (768, 640), (1024, 1024), ("h", "w"))


def test_inputs_that_share_an_axis_follow(tmp_path: Path) -> None:
    document = changed(tmp_path, {"input_ids": {"opt": [2, 48]}}, encoder(), THREE[:1])
    assert document.tensor_ranges[0]["attention_mask"].opt == (2, 48)


def test_two_inputs_that_share_an_axis_and_disagree_are_named(tmp_path: Path) -> None:
    changes = {"input_ids": {"opt": [4, 48]}, "attention_mask": {"opt": [4, 32]}}
    with pytest.raises(TunerError, match="has seq = 32, another input has 48"):
        changed(tmp_path, changes, encoder(), THREE[:1])


def test_a_set_of_several_profiles_is_not_changed_by_input(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"replaces shapes of one profile, but .* has 3"):
        changed(tmp_path, {"input_ids": {"opt": [2, 48]}}, encoder(), THREE)


def test_plain_shapes_with_a_model_are_a_profile(tmp_path: Path) -> None:
    shapes = {"x": {"min": [1, 3, 8, 8], "opt": [1, 3, 16, 32], "max": [1, 3, 64, 64]}}
    document = read_document(write(tmp_path / "shapes.json", shapes), IMAGE)
    assert document.profiles[0].range.opt == Size(("h", "w"), (16, 32))


def test_plain_shapes_have_to_follow_from_one_size(tmp_path: Path) -> None:
    model = Model("m", (TensorSpec("a", "int8", (HEIGHT,)), TensorSpec("b", "int8", (parse_formula("2*h"),))))
    good = {"a": {"min": [1], "opt": [2], "max": [4]}, "b": {"min": [2], "opt": [4], "max": [8]}}
    assert read_document(write(tmp_path / "good.json", good), model).profiles[0].range.max["h"] == 4
    bad = {**good, "b": {"min": [2], "opt": [5], "max": [8]}}
    with pytest.raises(TunerError, match=r"tensors.b.opt is \[5\], but the model m gives \[4\]"):
        read_document(write(tmp_path / "bad.json", bad), model)


def test_plain_shapes_of_another_model_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "shapes.json", {"y": {"min": [1], "opt": [1], "max": [1]}})
    with pytest.raises(TunerError, match=r"it has \['y'\], the model's inputs with a range are \['x'\]"):
        read_document(path, IMAGE)
