"""The model as far as profiles need it: its inputs, their dimensions and the axes they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.errors import TunerError
from tuner.formula import Formula
from tuner.graph_shapes import GraphShapes

Dimension = int | Formula
Shape = tuple[int, ...]

DTYPE_BYTES: Mapping[str, float] = {
    "bool": 1, "int4": 0.5, "uint4": 0.5, "float4e2m1": 0.5,
    "int8": 1, "uint8": 1, "float8e4m3fn": 1, "float8e5m2": 1,
    "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4,
    "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip
"""Bytes an element takes, by the dtype names that ONNX uses."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A network input: dtype and dimensions; a shape tensor has `values` too.

    A shape tensor carries a shape instead of data (the second input of Reshape, say), so TensorRT wants
    min, opt and max of its *values*. Each of them is an axis named like `target[0]`.
    """

    name: str
    dtype: str
    dims: tuple[Dimension, ...]
    values: tuple[Formula, ...] | None = None

    @property
    def is_shape_tensor(self) -> bool:
        return self.values is not None

    @property
    def is_dynamic(self) -> bool:
        return any(isinstance(dim, Formula) for dim in self.dims)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Every dimension and value that depends on axes."""
        return tuple(d for d in self.dims if isinstance(d, Formula)) + (self.values or ())

    def shape(self, size: Mapping[str, int]) -> Shape:
        return tuple(d if isinstance(d, int) else d.evaluate(size) for d in self.dims)

    def network_shape(self) -> Shape:
        """The shape as a TensorRT network shows it: -1 for each dynamic dimension."""
        return tuple(d if isinstance(d, int) else -1 for d in self.dims)


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """A network output; a dimension is a number, the model's own text for it, or unknown."""

    name: str
    dtype: str
    dims: tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """Inputs and outputs of a network with the hash of its content.

    `content_hash` is the SHA-256 (hex) of the ONNX file's bytes, extended by external weights where there
    are any; a model that is only known from recorded measurements has the prefix that was recorded.
    `batch_axis` is the axis that is the first dimension of every input and output, if there is one. `graph`
    tells whether shapes fit together inside the model, where its file was read.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[OutputSpec, ...] = ()
    content_hash: str | None = None
    graph: GraphShapes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.inputs:
            raise TunerError(f"model {self.name} has no inputs; there is nothing to tune")
        names = [tensor.name for tensor in self.inputs]
        if len(set(names)) != len(names):
            raise TunerError(f"model {self.name} names an input twice: {names}")

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the dynamic axes in the order in which the inputs mention them."""
        found = (axis for tensor in self.inputs for f in tensor.formulas for axis in f.axes)
        return tuple(dict.fromkeys(found))

    @property
    def batch_axis(self) -> str | None:
        first = {_text(t.dims[0]) if t.dims else None for t in self.inputs}
        first |= {_text(t.dims[0]) if t.dims else None for t in self.outputs}
        only = first.pop() if len(first) == 1 else None
        return only if only in self.axes else None

    def input(self, name: str) -> TensorSpec:
        for tensor in self.inputs:
            if tensor.name == name:
                return tensor
        raise TunerError(f"the model has no input '{name}'; it has {[t.name for t in self.inputs]}")

    def tensor_shapes(self, size: Size) -> dict[str, Shape]:
        """The concrete shape of every input; TunerError where a formula gives none."""
        values = size.as_dict()
        shapes = {tensor.name: tensor.shape(values) for tensor in self.inputs}
        for name, shape in shapes.items():
            if any(dim > LARGEST_DIMENSION for dim in shape):
                raise TunerError(f"input {name} would be {shape}; {LARGEST_DIMENSION} is the largest")
        return shapes

    def tensor_values(self, size: Size) -> dict[str, tuple[int, ...]]:
        """The values of every shape tensor."""
        values = size.as_dict()
        return {
            tensor.name: tuple(formula.evaluate(values) for formula in tensor.values)
            for tensor in self.inputs
            if tensor.values is not None
        }

    def why_not(self, size: Size) -> str | None:
        """Why the model cannot run this size, None where nothing is known to be against it."""
        problem = self.shape_problem(size)
        if problem is not None or self.graph is None:
            return problem
        return self.graph.why_not(self.tensor_shapes(size))

    def shape_problem(self, size: Size) -> str | None:
        """Why the inputs have no shape at this size, or None where they have one."""
        try:
            self.tensor_shapes(size)
            self.tensor_values(size)
        except TunerError as error:
            return str(error)
        return None


def _text(dim: int | str | Formula | None) -> str | None:
    return dim.text if isinstance(dim, Formula) else dim if isinstance(dim, str) else None
