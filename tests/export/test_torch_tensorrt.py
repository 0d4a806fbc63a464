"""Torch-TensorRT source: one range or several, by release; static inputs and shared axes in place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.export.consumer_parsers import run, torch_modules
from tests.export.written_documents import THREE, document_of, encoder, one
from tuner.errors import TunerError, UsageError
from tuner.export.exported import ExportOptions
from tuner.export.torch_tensorrt import torch_tensorrt
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec
from tuner.recommendation.profile_document import ProfileDocument

N = axis_dimension("n")


def inputs(document: ProfileDocument, **options: Any) -> list[dict[str, Any]]:
    source = torch_tensorrt(document, ExportOptions(**options)).text
    return [one.given for one in run(source, torch_modules())["inputs"]]


def test_one_profile_is_a_range() -> None:
    ids, mask = inputs(document_of(encoder(), THREE[:1]))
    assert ids == {
        "min_shape": (1, 16), "opt_shape": (4, 32), "max_shape": (4, 64),
        "shared_dims": {0: "batch", 1: "seq"}, "dtype": "torch.int64", "name": "input_ids",
    }  # fmt: skip
    assert mask["name"] == "attention_mask"


def test_several_profiles_are_a_list_from_2_14_on() -> None:
    document = document_of(encoder(), THREE)
    assert len(inputs(document, version="2.14")[0]["profiles"]) == 3
    with pytest.raises(TunerError, match=r"Torch-TensorRT 2.13 knows one an input.*--best-single"):
        torch_tensorrt(document, ExportOptions(version="2.13.0"))


def test_shared_axes_are_left_out_before_2_13_and_where_nothing_varies() -> None:
    assert "shared_dims" not in inputs(document_of(encoder(), THREE[:1]), version="2.8")[0]
    fixed = document_of(encoder(), [one((4, 16), (4, 32), (4, 64))])
    assert inputs(fixed)[0]["shared_dims"] == {1: "seq"}


def test_inputs_stay_in_the_models_order_with_static_ones() -> None:
    model = Model("m", (TensorSpec("scale", "float32", ()), TensorSpec("x", "float16", (N, 3))))
    scale, x = inputs(document_of(model, [one((1,), (2,), (8,), ("n",))]))
    assert scale == {"shape": (), "dtype": "torch.float32", "name": "scale"}
    assert (x["min_shape"], x["dtype"]) == ((1, 3), "torch.float16")


def test_names_are_mapped_to_those_of_forward() -> None:
    document = document_of(encoder(), THREE[:1])
    assert inputs(document, names={"input_ids": "ids"})[0]["name"] == "ids"
    with pytest.raises(UsageError, match="--map names the input 'inputs_ids'; did you mean 'input_ids'"):
        inputs(document, names={"inputs_ids": "ids"})


def test_a_name_that_is_no_parameter_is_left_out() -> None:
    model = Model("m", (TensorSpec("onnx::Conv_1", "float32", (N,)),))
    assert "name" not in inputs(document_of(model, [one((1,), (2,), (8,), ("n",))]))[0]


def test_an_empty_min_is_said_or_refused() -> None:
    model = Model("m", (TensorSpec("x", "float32", (N,)),))
    empty, other = one((0,), (2,), (8,), ("n",)), one((4,), (6,), (8,), ("n",))
    single = torch_tensorrt(document_of(model, [empty]), ExportOptions())
    assert "raises a min of 0 to 1" in single.notes[0]
    with pytest.raises(TunerError, match="profile 0 has a min of 0 for x"):
        torch_tensorrt(document_of(model, [empty, other]), ExportOptions())


def test_a_document_that_does_not_describe_the_model_is_refused() -> None:
    with pytest.raises(TunerError, match="order and the dtypes of its inputs are not known; give the model"):
        torch_tensorrt(document_of(None, THREE[:1]), ExportOptions())
