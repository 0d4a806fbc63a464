"""Dimensions as text, and a model as the JSON that recorded measurements and documents carry."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from tuner.errors import TunerError
from tuner.formula import axis_dimension, parse_formula
from tuner.model import Dimension, Model, OutputSpec, TensorSpec

_HYPHENATED = re.compile(r"[^\W\d]\w*(-[^\W\d]\w*)+")
_OPERATOR = re.compile(r"[-+*/%(),]")


def read_dimension(tensor: str, dim: int | str, bare: Collection[str]) -> Dimension:
    """A number, an axis or a formula over axes.

    `bare` are the names that stand alone as a dimension somewhere: `seq-len` is the difference of two
    axes only if both are among them, else one axis with a hyphen in its name.
    """
    if isinstance(dim, int):
        return dim
    text = dim.strip()
    is_one_name = bool(_HYPHENATED.fullmatch(text)) and not set(text.split("-")) <= set(bare)
    if is_one_name or not _OPERATOR.search(text):
        return axis_dimension(text)
    try:
        return parse_formula(text)
    except TunerError as error:
        raise TunerError(f"input '{tensor}': {error}") from error


def inputs_as_json(model: Model) -> str:
    """`{"ids": {"dtype": "int64", "shape": ["batch", 128]}}`; shape tensors have `values` too."""
    return json.dumps(_inputs(model))


def _inputs(model: Model) -> dict[str, dict[str, object]]:
    described: dict[str, dict[str, object]] = {}
    for tensor in model.inputs:
        shape = [dim if isinstance(dim, int) else dim.text for dim in tensor.dims]
        described[tensor.name] = {"dtype": tensor.dtype, "shape": shape}
        if tensor.values is not None:
            described[tensor.name]["values"] = [value.text for value in tensor.values]
    return described


def model_as_dict(model: Model) -> dict[str, object]:
    """The model as the document carries it; outputs are None where they are not known."""
    outputs = {o.name: {"dtype": o.dtype, "shape": list(o.dims)} for o in model.outputs}
    return {
        "name": model.name,
        "hash": model.content_hash,
        "inputs": _inputs(model),
        "outputs": outputs or None,
    }


def model_from_metadata(name: str, inputs_json: str, content_hash: str | None) -> Model:
    """The model whose inputs are described in that JSON.

    Raises TunerError where the JSON is not of that form.
    """
    try:
        return _model(name, json.loads(inputs_json), {}, content_hash)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TunerError(
            f"measurements of {name}: cannot read the inputs in the metadata ({error}); expected JSON like "
            '{"ids": {"dtype": "int64", "shape": ["batch", 128]}}'
        ) from error


def model_from_dict(described: Mapping[str, Any]) -> Model:
    """What `model_as_dict` wrote; TunerError where it is not of that form."""
    try:
        outputs = described["outputs"] or {}
        return _model(described["name"], described["inputs"], outputs, described["hash"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TunerError(
            f"cannot read the model ({type(error).__name__}: {error}); expected name, hash, inputs and "
            'outputs, an input like {"ids": {"dtype": "int64", "shape": ["batch", 128]}}'
        ) from error


def _model(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], digest: str | None) -> Model:
    bare = {d for spec in inputs.values() for d in spec["shape"] if isinstance(d, str)}
    tensors = tuple(
        TensorSpec(
            tensor,
            spec["dtype"],
            tuple(read_dimension(tensor, dim, bare) for dim in spec["shape"]),
            tuple(axis_dimension(v) for v in spec["values"]) if "values" in spec else None,
        )
        for tensor, spec in inputs.items()
    )
    produced = tuple(OutputSpec(o, spec["dtype"], tuple(spec["shape"])) for o, spec in outputs.items())
    return Model(name, tensors, produced, digest)
