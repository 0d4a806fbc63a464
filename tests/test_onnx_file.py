"""Models are read from ONNX files: inputs, axes, shape tensors, content hash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.onnx_file import read_onnx


def save(path: Path, inputs: dict[str, tuple[int, list[int | str | None]]], **parts: object) -> Path:
    """A model of Identity nodes over the given inputs; `nodes`, `weights` and `outputs` replace parts."""
    values = [helper.make_tensor_value_info(n, t, dims) for n, (t, dims) in inputs.items()]
    nodes = parts.get("nodes") or [helper.make_node("Identity", [n], [f"{n}_y"]) for n in inputs]
    outputs = parts.get("outputs") or [
        helper.make_tensor_value_info(f"{n}_y", t, dims) for n, (t, dims) in inputs.items()
    ]
    graph = helper.make_graph(nodes, "g", values, outputs, initializer=parts.get("weights") or [])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def test_inputs_that_share_a_symbol_share_the_axis(tmp_path: Path) -> None:
    ids = (TensorProto.INT64, ["batch", "seq"])
    model = read_onnx(save(tmp_path / "m.onnx", {"ids": ids, "mask": ids}))
    assert model.axes == ("batch", "seq")
    assert model.tensor_shapes(Size.of(batch=2, seq=8)) == {"ids": (2, 8), "mask": (2, 8)}
    assert model.batch_axis == "batch"


def test_a_formula_follows_from_axes_and_may_bring_one_of_its_own(tmp_path: Path) -> None:
    inputs = {
        "ids": (TensorProto.INT64, ["batch", "seq"]),
        "mask": (TensorProto.INT64, ["batch", "past + seq"]),
    }
    model = read_onnx(save(tmp_path / "m.onnx", inputs))
    assert model.axes == ("batch", "seq", "past")
    assert model.tensor_shapes(Size.of(batch=1, seq=33, past=10))["mask"] == (1, 43)


def test_an_unnamed_dynamic_dimension_is_an_axis_named_by_its_place(tmp_path: Path) -> None:
    model = read_onnx(save(tmp_path / "m.onnx", {"x": (TensorProto.FLOAT, [None, 4])}))
    assert model.axes == ("x[0]",)


def test_a_hyphen_in_one_name_is_no_subtraction(tmp_path: Path) -> None:
    model = read_onnx(save(tmp_path / "m.onnx", {"x": (TensorProto.FLOAT, ["batch", "seq-len"])}))
    assert model.axes == ("batch", "seq-len")


def test_a_formula_that_cannot_be_read_names_input_and_text(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", {"x": (TensorProto.FLOAT, ["round(n)"])})
    with pytest.raises(TunerError, match=r"input 'x': cannot read the dimension 'round\(n\)'"):
        read_onnx(path)


def test_an_input_that_carries_a_shape_has_its_values_as_axes(tmp_path: Path) -> None:
    path = save(
        tmp_path / "m.onnx",
        {"data": (TensorProto.FLOAT, ["n", 16]), "target": (TensorProto.INT64, [2])},
        nodes=[
            helper.make_node("Identity", ["target"], ["t"]),
            helper.make_node("Reshape", ["data", "t"], ["y"]),
        ],
        outputs=[helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])],
    )
    model = read_onnx(path)
    assert model.axes == ("n", "target[0]", "target[1]")
    size = Size(model.axes, (4, 8, 8))
    assert model.tensor_values(size) == {"target": (8, 8)}
    assert model.tensor_shapes(size) == {"data": (4, 16), "target": (2,)}


def test_a_weight_listed_as_input_is_no_input(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
    inputs = {"x": (TensorProto.FLOAT, ["n", 4]), "w": (TensorProto.FLOAT, [4])}
    model = read_onnx(save(tmp_path / "m.onnx", inputs, weights=[weight]))
    assert [tensor.name for tensor in model.inputs] == ["x"]


def external_model(folder: Path, location: str, weights: np.ndarray) -> Path:
    """A model with its weight in another file of the folder."""
    folder.mkdir()
    tensor = numpy_helper.from_array(weights, "w")
    path = save(
        folder / "m.onnx",
        {"x": (TensorProto.FLOAT, ["n", 4])},
        nodes=[helper.make_node("Add", ["x", "w"], ["x_y"])],
        weights=[tensor],
    )
    proto = onnx.load(str(path))
    onnx.external_data_helper.convert_model_to_external_data(proto, location="w.bin", size_threshold=0)
    onnx.save(proto, str(path))
    if location != "w.bin":
        proto = onnx.load(str(path), load_external_data=False)
        entry = next(e for e in proto.graph.initializer[0].external_data if e.key == "location")
        entry.value = location
        path.write_bytes(proto.SerializeToString())
    return path


def test_the_hash_covers_external_weights(tmp_path: Path) -> None:
    one = read_onnx(external_model(tmp_path / "a", "w.bin", np.ones(4, np.float32)))
    same = read_onnx(external_model(tmp_path / "b", "w.bin", np.ones(4, np.float32)))
    other = read_onnx(external_model(tmp_path / "c", "w.bin", np.zeros(4, np.float32)))
    assert one.content_hash == same.content_hash
    assert one.content_hash != other.content_hash


def test_external_weights_outside_the_models_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(16))
    path = external_model(tmp_path / "a", "../secret.bin", np.ones(4, np.float32))
    with pytest.raises(TunerError, match="outside the model's folder"):
        read_onnx(path)


def test_missing_external_weights_are_named(tmp_path: Path) -> None:
    path = external_model(tmp_path / "a", "w.bin", np.ones(4, np.float32))
    (tmp_path / "a" / "w.bin").unlink()
    with pytest.raises(TunerError, match=r"external weights w\.bin is missing"):
        read_onnx(path)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 100])
def test_a_file_that_is_no_model_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(TunerError, match=r"m\.onnx: not "):
        read_onnx(path)


def test_a_missing_file_says_which_option_wants_it(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="no such file; give an ONNX file with --model"):
        read_onnx(tmp_path / "none.onnx")


def test_without_external_weights_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    path = save(tmp_path / "m.onnx", {"x": (TensorProto.FLOAT, ["n"])})
    assert read_onnx(path).content_hash == hashlib.sha256(path.read_bytes()).hexdigest()
