"""What inputs are filled with while they are timed: values that the model could really be sent.

Zeros hide errors and can run faster than data, so floats are normally distributed; indices stay within
the table that they look up; masks and other whole numbers are ones. All of it is seeded.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.model import Model, Shape

Array = NDArray[Any]

_FLOATS: Mapping[str, Any] = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
_TRANSPARENT = ("Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")


@dataclass(frozen=True, slots=True)
class InputFill:
    """How to fill each input: `index_limits` has the table length of every input that is an index."""

    index_limits: Mapping[str, int]
    seed: int = 0

    @property
    def text(self) -> str:
        """A short name for measurements: equal names mean equal values."""
        told = ",".join(f"{name}<{limit}" for name, limit in sorted(self.index_limits.items()))
        return f"normal+indices:{self.seed}:{hashlib.sha256(told.encode()).hexdigest()[:8]}"

    def array(self, name: str, dtype: str, shape: Shape) -> Array:
        """The values of one input in the dtype that the engine reports."""
        random = np.random.default_rng((self.seed, zlib.crc32(name.encode())))
        if dtype == "bfloat16":
            # numpy has no bfloat16: the upper half of a float32 is one.
            wide = random.standard_normal(shape, dtype=np.float32)
            return (wide.view(np.uint32) >> 16).astype(np.uint16)
        if dtype in _FLOATS:
            return random.standard_normal(shape, dtype=np.float32).astype(_FLOATS[dtype])
        if dtype.startswith("float8"):
            return random.integers(0x20, 0x40, shape, dtype=np.uint8)  # positive numbers around one
        whole = np.dtype("bool" if dtype == "bool" else dtype)
        limit = self.index_limits.get(name)
        if limit is not None and dtype != "bool":
            return random.integers(0, min(limit, np.iinfo(whole).max), shape, dtype=whole)
        return np.ones(shape, whole)


def fill_for(model: Model, path: Path) -> InputFill:
    """The fill of a model: every whole-number input that looks up a table of weights is an index."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    weights = {weight.name: list(weight.dims) for weight in graph.initializer}
    source = {tensor.name: tensor.name for tensor in model.inputs}
    limits: dict[str, int] = {}
    for node in graph.node:
        if node.op_type in _TRANSPARENT and node.input and node.input[0] in source:
            source[node.output[0]] = source[node.input[0]]
        if node.op_type != "Gather" or node.input[0] not in weights or node.input[1] not in source:
            continue
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        table = weights[node.input[0]][axis]
        name = source[node.input[1]]
        limits[name] = min(table, limits.get(name, table))
    return InputFill(limits)
