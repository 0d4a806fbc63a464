"""Writes profiles as Python source for Torch-TensorRT.

Facts, from the package's own text: `torch_tensorrt.Input` takes one range, or from 2.14 on several as
`profiles=`, whose dimensions have to be 1 or more; `shared_dims` (from 2.13 on) says which axes inputs
share; inputs are positional, static ones included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tuner.errors import TunerError, UsageError, nearest_name
from tuner.export.export_set import ExportSet, asked_set, bound_of
from tuner.export.exported import Exported, ExportOptions, version_of
from tuner.formula import Formula
from tuner.model import Model, TensorSpec
from tuner.recommendation.profile_document import ProfileDocument

FIRST_WITH_PROFILES = (2, 14)
FIRST_WITH_SHARED_DIMS = (2, 13)
_TORCH_DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
)
_BOUNDS = ("min", "opt", "max")


def torch_tensorrt(document: ProfileDocument, options: ExportOptions) -> Exported:
    """Source with the list `inputs` for `torch_tensorrt.compile`, in the model's order."""
    model = _model(document)
    found = asked_set(document, options)
    version = version_of(options.version) if options.version else None
    notes = list(found.notes)
    if len(found) > 1:
        _check_several(document, found, version)
        if version is None:
            notes.append("several profiles need Torch-TensorRT 2.14 or later; say which with --for-version")
    elif any(0 in shape for shape in bound_of(found.tensors[0], "min").values()):
        notes.append("Torch-TensorRT raises a min of 0 to 1: an empty request may fail")
    shares = version is None or version >= FIRST_WITH_SHARED_DIMS
    shared = _shared_axes(model) if shares else frozenset()
    _check_names(model, options.names)
    lines = [line for tensor in model.inputs for line in _input(tensor, found, shared, options.names)]
    return Exported(
        _TORCH_SOURCE.replace("INPUTS\n", "".join(f"    {line}\n" for line in lines)), tuple(notes)
    )


def _model(document: ProfileDocument) -> Model:
    if document.model is None:
        raise TunerError(
            f"{document.source}: does not describe the model, so the order and the dtypes of its inputs are "
            "not known; give the model with --model FILE.onnx"
        )
    return document.model


def _check_several(document: ProfileDocument, found: ExportSet, version: tuple[int, int] | None) -> None:
    if version is not None and version < FIRST_WITH_PROFILES:
        raise TunerError(
            f"{document.source}: has {len(found)} profiles, but Torch-TensorRT {version[0]}.{version[1]} "
            "knows one an input; export the best one with --best-single, or use 2.14 or later"
        )
    for index, tensors in enumerate(found.tensors):
        empty = [name for name, shape in bound_of(tensors, "min").items() if 0 in shape]
        if empty:
            raise TunerError(
                f"profile {index} has a min of 0 for {', '.join(empty)}; Torch-TensorRT takes several "
                "profiles only with a min of 1 or more: raise it, or export --best-single"
            )


def _shared_axes(model: Model) -> frozenset[str]:
    counts = Counter(axis for tensor in model.inputs for axis in set(_axes(tensor).values()))
    return frozenset(axis for axis, count in counts.items() if count > 1 and axis.isidentifier())


def _axes(tensor: TensorSpec) -> dict[int, str]:
    return {i: d.text for i, d in enumerate(tensor.dims) if isinstance(d, Formula) and d.is_axis}


def _input(
    tensor: TensorSpec, found: ExportSet, shared: frozenset[str], names: Mapping[str, str]
) -> Iterator[str]:
    if tensor.dtype not in _TORCH_DTYPES:
        raise TunerError(f"input {tensor.name} has the dtype {tensor.dtype}, which torch has no name for")
    yield "torch_tensorrt.Input("
    if tensor.name not in found.tensors[0]:
        yield f"    shape={tensor.shape({})!r},"
    else:
        yield from _ranges(tensor.name, found)
        common = {i: axis for i, axis in _axes(tensor).items() if axis in shared and _varies(axis, found)}
        if common:
            yield f"    shared_dims={common!r},"
    if tensor.is_shape_tensor:
        yield "    is_shape_tensor=True,"
    yield f"    dtype=torch.{tensor.dtype},"
    name = names.get(tensor.name, tensor.name)
    if name.isidentifier():
        yield f"    name={name!r},"
    yield f"),  # {tensor.name!r}"


def _varies(axis: str, found: ExportSet) -> bool:
    return min(one.min[axis] for one in found.ranges) < max(one.max[axis] for one in found.ranges)


def _ranges(name: str, found: ExportSet) -> Iterator[str]:
    several = [{b: bound_of(tensors, b)[name] for b in _BOUNDS} for tensors in found.tensors]
    if len(several) == 1:
        yield from (f"    {bound}_shape={several[0][bound]!r}," for bound in _BOUNDS)
        return
    yield "    profiles=["
    for one in several:
        yield "        {" + ", ".join(f'"{bound}_shape": {one[bound]!r}' for bound in _BOUNDS) + "},"
    yield "    ],"


def _check_names(model: Model, names: Mapping[str, str]) -> None:
    inputs = [tensor.name for tensor in model.inputs]
    for name in names:
        if name not in inputs:
            raise UsageError(
                f"--map names the input '{name}'{nearest_name(name, inputs)}; inputs are {inputs}"
            )


_TORCH_SOURCE = '''\
"""Inputs for torch_tensorrt.compile(model, inputs=inputs)."""

import torch
import torch_tensorrt

inputs = [
INPUTS
]
'''
