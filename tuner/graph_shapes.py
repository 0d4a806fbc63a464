"""Whether a model's graph takes given input shapes, by ONNX shape inference: nothing is run.

Dimensions that must be a multiple of something, or that must agree between inputs, are nowhere declared;
they show when two shapes meet in an operator. Only that is reported: a graph that inference cannot follow
at all tells nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_LARGEST_KEPT = 1024
_MEETS = ("Incompatible dimensions", "Mismatch", "mismatch", "must be equal", "not compatible", "broadcast")


_WRAPPING = re.compile(r"\[\w+Error\]|Inference error\(s\):")


class GraphShapes:
    """The graph without its weights, ready to be asked about many shapes."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        import onnx

        self._proto = onnx.ModelProto(ir_version=proto.ir_version)
        self._proto.opset_import.extend(proto.opset_import)
        self._proto.functions.extend(proto.functions)
        graph = self._proto.graph
        graph.name = proto.graph.name
        graph.node.extend(proto.graph.node)
        graph.input.extend(proto.graph.input)
        graph.output.extend(proto.graph.output)
        graph.initializer.extend(_without_content(weight) for weight in proto.graph.initializer)
        self.node_count = len(graph.node)

    def why_not(self, shapes: Mapping[str, tuple[int, ...]]) -> str | None:
        """What does not fit when the inputs have these shapes, None where nothing is known to be wrong."""
        from onnx import shape_inference

        for value in self._proto.graph.input:
            for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
                dim.dim_value = size
        try:
            shape_inference.infer_shapes(self._proto, strict_mode=True, data_prop=True)
        except (shape_inference.InferenceError, ValueError) as error:
            text = " ".join(_WRAPPING.sub("", str(error)).split())
            return text[:200] if any(word in text for word in _MEETS) else None
        return None


def _without_content(weight: onnx.TensorProto) -> onnx.TensorProto:
    """A small weight as it is, since shapes may be computed from it; of a large one all but its values."""
    import onnx

    if math.prod(weight.dims) <= _LARGEST_KEPT:
        return weight
    return onnx.TensorProto(name=weight.name, data_type=weight.data_type, dims=weight.dims)
