"""Shapes that do not fit together inside a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tuner.axes import Size
from tuner.model import Model
from tuner.onnx_file import read_onnx


def tensor(name: str, *dims: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)


@pytest.fixture
def halved_and_doubled(tmp_path: Path) -> Model:
    """A stride-2 convolution, an upsample and an addition: sizes have to be even."""
    kernel = numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "kernel")
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["half"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Resize", ["half", "", "scales"], ["whole"], mode="nearest"),
        helper.make_node("Add", ["x", "whole"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [tensor("x", 1, 1, "h", "w")], [tensor("y", 1, 1, "h", "w")], [kernel, scales]
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    return read_onnx(tmp_path / "m.onnx")


@pytest.mark.parametrize(("h", "w", "fits"), [(8, 8, True), (8, 6, True), (7, 8, False), (8, 9, False)])
def test_a_size_that_is_no_multiple_does_not_fit(
    halved_and_doubled: Model, h: int, w: int, fits: bool
) -> None:
    why = halved_and_doubled.why_not(Size.of(h=h, w=w))

    assert (why is None) is fits
    assert why is None or "Add" in why


def test_inputs_that_have_to_agree_are_found(tmp_path: Path) -> None:
    node = helper.make_node("Add", ["a", "b"], ["y"])
    graph = helper.make_graph([node], "g", [tensor("a", "seq"), tensor("b", "total")], [tensor("y", None)])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    model = read_onnx(tmp_path / "m.onnx")

    assert model.why_not(Size.of(seq=5, total=5)) is None
    assert model.why_not(Size.of(seq=5, total=6)) is not None


def test_a_graph_that_cannot_be_followed_says_nothing(tmp_path: Path) -> None:
    node = helper.make_node("Mystery", ["x"], ["y"], domain="my.own")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.own", 1)]
    graph = helper.make_graph([node], "g", [tensor("x", "n")], [tensor("y", "n")])
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "m.onnx")

    assert read_onnx(tmp_path / "m.onnx").why_not(Size.of(n=3)) is None


def test_two_models_of_the_same_content_are_equal(halved_and_doubled: Model, tmp_path: Path) -> None:
    assert read_onnx(tmp_path / "m.onnx") == halved_and_doubled
