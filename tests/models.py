"""Makes the ONNX models that tests and measurements use: seeded, from `onnx` alone, nothing downloaded.

`python tests/models.py encoder out.onnx` writes one of them.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 13
IR_VERSION = 8
Dims = Sequence[int | str]


class Graph:
    """Nodes and weights of a network under construction; every method returns the name of its output."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, value: NDArray[np.generic] | Sequence[int] | float) -> str:
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, f"weight_{len(self.weights)}"))
        return self.weights[-1].name

    def normal(self, *shape: int, fan_in: int) -> str:
        values = self.random.standard_normal(shape, dtype=np.float32)
        return self.constant(values / np.float32(math.sqrt(fan_in)))

    def dense(self, x: str, width_in: int, width_out: int) -> str:
        product = self.node("MatMul", x, self.normal(width_in, width_out, fan_in=width_in))
        return self.node("Add", product, self.normal(width_out, fan_in=width_in))

    def layer_norm(self, x: str, width: int) -> str:
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1], keepdims=1))
        variance = self.node("ReduceMean", self.node("Mul", centred, centred), axes=[-1], keepdims=1)
        deviation = self.node("Sqrt", self.node("Add", variance, self.constant(1e-5)))
        scaled = self.node(
            "Mul", self.node("Div", centred, deviation), self.constant(np.ones(width, np.float32))
        )
        return self.node("Add", scaled, self.constant(np.zeros(width, np.float32)))

    def conv(self, x: str, channels_in: int, channels_out: int, *, kernel: int, stride: int = 1) -> str:
        fan_in = channels_in * kernel * kernel
        weight = self.normal(channels_out, channels_in, kernel, kernel, fan_in=fan_in // 2 or 1)
        bias = self.normal(channels_out, fan_in=fan_in)
        pad = kernel // 2
        return self.node(
            "Conv", x, weight, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4
        )

    def model(
        self, name: str, inputs: dict[str, tuple[int, Dims]], output: tuple[str, Dims]
    ) -> onnx.ModelProto:
        """The finished model with one float output, renamed to `output`."""
        last, dims = output
        self.nodes.append(helper.make_node("Identity", [last], ["output"], name="node_output"))
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(n, dtype, list(d)) for n, (dtype, d) in inputs.items()],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, list(dims))],
            self.weights,
        )
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)


def tiny(seed: int = 0) -> onnx.ModelProto:
    """relu(x @ w): x[batch, 16], for builds that take no time."""
    g = Graph(seed)
    relu = g.node("Relu", g.node("MatMul", "x", g.normal(16, 8, fan_in=16)))
    return g.model("tiny", {"x": (TensorProto.FLOAT, ["batch", 16])}, (relu, ["batch", 8]))


def ranker(seed: int = 0) -> onnx.ModelProto:
    """The six-layer perceptron of the recorded measurements: features[batch, 512]."""
    g = Graph(seed)
    widths = (512, 2048, 2048, 1024, 512, 256, 1)
    x = "features"
    for i, (width_in, width_out) in enumerate(itertools.pairwise(widths)):
        x = g.dense(x, width_in, width_out)
        if i < len(widths) - 2:
            x = g.node("Relu", x)
    return g.model("ranker", {"features": (TensorProto.FLOAT, ["batch", 512])}, (x, ["batch", 1]))


def encoder(
    seed: int = 0, *, layers: int = 6, hidden: int = 768, heads: int = 12, vocabulary: int = 1000
) -> onnx.ModelProto:
    """A transformer encoder: input_ids[batch, seq] and attention_mask[batch, seq], both int64, seq <= 512."""
    g = Graph(seed)
    x = _embedding(g, vocabulary, hidden)
    mask = g.node("Cast", g.node("Unsqueeze", "attention_mask", g.constant([1, 2])), to=TensorProto.FLOAT)
    hidden_places = g.node("Mul", g.node("Sub", g.constant(1.0), mask), g.constant(-10000.0))
    for _ in range(layers):
        attended = _attention(g, x, hidden_places, (hidden, heads))
        x = g.layer_norm(g.node("Add", x, attended), hidden)
        wide = _gelu(g, g.dense(x, hidden, 4 * hidden))
        x = g.layer_norm(g.node("Add", x, g.dense(wide, 4 * hidden, hidden)), hidden)
    tokens = (TensorProto.INT64, ["batch", "seq"])
    return g.model("encoder", {"input_ids": tokens, "attention_mask": tokens}, (x, ["batch", "seq", hidden]))


def tiny_encoder(seed: int = 0) -> onnx.ModelProto:
    """One layer, 32 wide: the encoder's inputs and operators in a build of seconds."""
    return encoder(seed, layers=1, hidden=32, heads=2, vocabulary=100)


def resnet(seed: int = 0, *, blocks: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> onnx.ModelProto:
    """A network like ResNet-50 (bottlenecks, batch norms folded): image[batch, 3, 224, 224]."""
    g = Graph(seed)
    x = g.node("Relu", g.conv("image", 3, width, kernel=7, stride=2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage, count in enumerate(blocks):
        inner = width << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            x = _bottleneck(g, x, (channels, inner, 4 * inner), stride)
            channels = 4 * inner
    pooled = g.node("Flatten", g.node("GlobalAveragePool", x), axis=1)
    image = (TensorProto.FLOAT, ["batch", 3, 224, 224])
    return g.model("resnet", {"image": image}, (g.dense(pooled, channels, 1000), ["batch", 1000]))


def formula(seed: int = 0) -> onnx.ModelProto:
    """One dimension is a formula of an axis: a[batch, seq, 8] and b[batch, 2*seq, 8]."""
    g = Graph(seed)
    joined = g.node("Concat", "a", "b", axis=1)
    product = g.node("MatMul", joined, g.normal(8, 4, fan_in=8))
    inputs: dict[str, tuple[int, Dims]] = {
        "a": (TensorProto.FLOAT, ["batch", "seq", 8]),
        "b": (TensorProto.FLOAT, ["batch", "2*seq", 8]),
    }
    return g.model("formula", inputs, (product, ["batch", "3*seq", 4]))


def shape_tensor(seed: int = 0) -> onnx.ModelProto:
    """data[n, 16] reshaped to what the input target[2] says."""
    g = Graph(seed)
    reshaped = g.node("Reshape", g.node("Relu", "data"), "target")
    inputs: dict[str, tuple[int, Dims]] = {
        "data": (TensorProto.FLOAT, ["n", 16]),
        "target": (TensorProto.INT64, [2]),
    }
    return g.model("shape_tensor", inputs, (reshaped, ["rows", "columns"]))


def unsupported(seed: int = 0) -> onnx.ModelProto:
    """Two nodes that no parser knows."""
    g = Graph(seed)
    last = g.node("Frobnicate", g.node("Twiddle", "x"))
    return g.model("unsupported", {"x": (TensorProto.FLOAT, ["batch", 16])}, (last, ["batch", 16]))


def _embedding(g: Graph, vocabulary: int, hidden: int) -> str:
    words = g.node("Gather", g.normal(vocabulary, hidden, fan_in=1), "input_ids", axis=0)
    length = g.node("Gather", g.node("Shape", "input_ids"), g.constant([1]), axis=0)
    table = g.normal(1, 512, hidden, fan_in=1)
    places = g.node("Slice", table, g.constant([0]), length, g.constant([1]))
    return g.layer_norm(g.node("Add", words, places), hidden)


def _attention(g: Graph, x: str, hidden_places: str, width: tuple[int, int]) -> str:
    hidden, heads = width

    def split(order: Sequence[int]) -> str:
        apart = g.node("Reshape", g.dense(x, hidden, hidden), g.constant([0, 0, heads, hidden // heads]))
        return g.node("Transpose", apart, perm=list(order))

    query, key, value = split((0, 2, 1, 3)), split((0, 2, 3, 1)), split((0, 2, 1, 3))
    scores = g.node("Mul", g.node("MatMul", query, key), g.constant(1 / math.sqrt(hidden // heads)))
    shares = g.node("Softmax", g.node("Add", scores, hidden_places), axis=-1)
    mixed = g.node("Transpose", g.node("MatMul", shares, value), perm=[0, 2, 1, 3])
    return g.dense(g.node("Reshape", mixed, g.constant([0, 0, hidden])), hidden, hidden)


def _gelu(g: Graph, x: str) -> str:
    error_function = g.node("Erf", g.node("Mul", x, g.constant(math.sqrt(0.5))))
    return g.node("Mul", g.node("Mul", x, g.constant(0.5)), g.node("Add", error_function, g.constant(1.0)))


def _bottleneck(g: Graph, x: str, channels: tuple[int, int, int], stride: int) -> str:
    channels_in, inner, channels_out = channels
    y = g.node("Relu", g.conv(x, channels_in, inner, kernel=1))
    y = g.node("Relu", g.conv(y, inner, inner, kernel=3, stride=stride))
    y = g.conv(y, inner, channels_out, kernel=1)
    if channels_in != channels_out or stride != 1:
        x = g.conv(x, channels_in, channels_out, kernel=1, stride=stride)
    # Halved, so that the sums of sixteen blocks stay within the range of FP16.
    return g.node("Relu", g.node("Mul", g.node("Add", x, y), g.constant(0.5)))


MODELS: dict[str, Callable[[], onnx.ModelProto]] = {
    "tiny": tiny,
    "ranker": ranker,
    "encoder": encoder,
    "tiny_encoder": tiny_encoder,
    "resnet": resnet,
    "formula": formula,
    "shape_tensor": shape_tensor,
    "unsupported": unsupported,
}


def save(name: str, path: Path) -> Path:
    """Write one of `MODELS` to a file and give back its path."""
    path.write_bytes(MODELS[name]().SerializeToString())
    return path


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in MODELS:
        sys.exit(f"usage: python tests/models.py {{{','.join(MODELS)}}} FILE.onnx")
    save(sys.argv[1], Path(sys.argv[2]))
