"""Reads a `Model` from an ONNX file: inputs, axes, shape tensors and the content hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import TunerError
from tuner.formula import axis_dimension
from tuner.graph_shapes import GraphShapes
from tuner.model import Model, OutputSpec, TensorSpec
from tuner.model_inputs import read_dimension

if TYPE_CHECKING:
    import onnx

# Operators that read a shape, with the positions of those inputs (ONNX operator reference).
_SHAPE_POSITIONS: Mapping[str, tuple[int, ...]] = {
    "Reshape": (1,), "Expand": (1,), "ConstantOfShape": (0,), "Tile": (1,), "Resize": (3,),
    "Slice": (1, 2, 4), "Pad": (1,), "Range": (0, 1, 2), "TopK": (1,), "OneHot": (1,),
    "CenterCropPad": (1,),
}  # fmt: skip
# Operators through which a shape reaches them unchanged in kind.
_CARRIES_SHAPE = frozenset(
    (
        *("Add", "Cast", "Concat", "Div", "Gather", "Identity", "Max", "Min", "Mul", "Neg"),
        *("ReduceProd", "Slice", "Split", "Squeeze", "Sub", "Unsqueeze", "Where"),
    )
)
_CHUNK_BYTES = 1 << 20


def read_onnx(path: str | Path) -> Model:
    """The model in an ONNX file.

    Raises TunerError for a missing file, one that is no ONNX, a dimension that cannot be read, and
    external weights that are missing or lie outside the model's folder.
    """
    import onnx  # heavy; only commands that were given a model pay for it
    from google.protobuf.message import DecodeError

    file = Path(path)
    if not file.is_file():
        raise TunerError(f"model {file}: no such file; give an ONNX file with --model")
    try:
        proto = onnx.load(str(file), load_external_data=False)
    except (DecodeError, ValueError, OSError) as error:
        raise TunerError(f"model {file}: not a readable ONNX file ({error})") from error
    if not proto.HasField("graph") or not proto.graph.input:
        raise TunerError(f"model {file}: not an ONNX model, it holds no graph with inputs")
    weights = {tensor.name for tensor in proto.graph.initializer}
    shapes_wanted = _tensors_read_as_shape(proto.graph)
    inputs = [value for value in proto.graph.input if value.name not in weights]
    bare = {d.dim_param for value in inputs for d in value.type.tensor_type.shape.dim if d.dim_param}
    return Model(
        name=file.stem,
        inputs=tuple(_input(file, value, bare, shapes_wanted) for value in inputs),
        outputs=tuple(_output(value) for value in proto.graph.output),
        content_hash=content_hash(file, proto),
        graph=GraphShapes(proto),
    )


def content_hash(file: Path, proto: onnx.ModelProto) -> str:
    """SHA-256 of the file; with external weights, of the file's and of each weight's name and digest."""
    graph_digest = _file_digest(file, 0, None)
    parts = [
        f"{name}:{_file_digest(path, offset, length)}"
        for name, path, offset, length in _external_weights(file, proto)
    ]
    if not parts:
        return graph_digest
    return hashlib.sha256("\n".join([graph_digest, *parts]).encode()).hexdigest()


def _external_weights(file: Path, proto: onnx.ModelProto) -> Iterable[tuple[str, Path, int, int | None]]:
    from onnx.external_data_helper import _get_all_tensors, uses_external_data

    folder = file.resolve().parent
    for tensor in _get_all_tensors(proto):
        if not uses_external_data(tensor):
            continue
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = (folder / entries.get("location", "")).resolve()
        if not path.is_relative_to(folder):
            raise TunerError(
                f"model {file}: weight '{tensor.name}' lies at '{entries.get('location')}', outside the "
                "model's folder; move it beside the model"
            )
        if not path.is_file():
            raise TunerError(f"model {file}: the file of external weights {path.name} is missing beside it")
        length = entries.get("length")
        yield tensor.name, path, int(entries.get("offset", 0)), int(length) if length else None


def _file_digest(path: Path, offset: int, length: int | None) -> str:
    digest = hashlib.sha256()
    left = length if length is not None else path.stat().st_size - offset
    with path.open("rb") as stream:
        stream.seek(offset)
        while left > 0:
            chunk = stream.read(min(left, _CHUNK_BYTES))
            if not chunk:
                raise TunerError(f"{path}: ends before byte {offset + (length or 0)}, the weights are cut")
            digest.update(chunk)
            left -= len(chunk)
    return digest.hexdigest()


def _input(file: Path, value: onnx.ValueInfoProto, bare: set[str], shapes_wanted: set[str]) -> TensorSpec:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
        raise TunerError(f"model {file}: input '{value.name}' is no tensor of known rank")
    dims = tuple(
        read_dimension(value.name, d.dim_param or _number(d, f"{value.name}[{i}]"), bare)
        for i, d in enumerate(tensor.shape.dim)
    )
    values = None
    if value.name in shapes_wanted and len(dims) <= 1:
        count = dims[0] if dims else 1
        if not isinstance(count, int):
            raise TunerError(f"model {file}: shape tensor '{value.name}' has no fixed length")
        values = tuple(axis_dimension(f"{value.name}[{i}]") for i in range(count))
    return TensorSpec(value.name, _dtype_name(tensor.elem_type), dims, values)


def _output(value: onnx.ValueInfoProto) -> OutputSpec:
    tensor = value.type.tensor_type
    dims = tuple(d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in tensor.shape.dim)
    return OutputSpec(value.name, _dtype_name(tensor.elem_type), dims)


def _number(dim: onnx.TensorShapeProto.Dimension, unnamed: str) -> int | str:
    """A fixed dimension, or the name that we give to one that has neither number nor name."""
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return int(dim.dim_value)
    return unnamed


def _dtype_name(elem_type: int) -> str:
    import onnx

    names = {"FLOAT": "float32", "DOUBLE": "float64"}
    name = str(onnx.TensorProto.DataType.Name(elem_type))
    return names.get(name, name.lower())


def _tensors_read_as_shape(graph: onnx.GraphProto) -> set[str]:
    """Names of the tensors whose values some operator takes as a shape, found from the end backwards."""
    wanted: set[str] = set()
    for node in reversed(graph.node):
        for position in _SHAPE_POSITIONS.get(node.op_type, ()):
            if position < len(node.input):
                wanted.add(node.input[position])
        if node.op_type in _CARRIES_SHAPE and wanted.intersection(node.output):
            wanted.update(node.input)
    return wanted
