"""Cases C02, C07, C08, C22, C23, C25, C26 and C28: each kind with data of its own, and the handed files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest

from tests.commands.running import Shell, assert_one_line
from tests.export.consumer_parsers import onnxruntime_profile, triton_config, trtexec_profiles

HANDED = next((p / "shared/cases" for p in Path(__file__).parents if (p / "shared/cases").is_dir()), None)
needs_handed = pytest.mark.skipif(HANDED is None, reason="the handed cases are not beside this checkout")
Dims = Sequence[int | str]
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def model(
    path: Path,
    inputs: Mapping[str, tuple[int, Dims]],
    outputs: Mapping[str, tuple[int, Dims]],
    nodes: Sequence[onnx.NodeProto] = (),
) -> Path:
    """A graph of these inputs and outputs; what lies between does not matter to a profile."""

    def described(tensors: Mapping[str, tuple[int, Dims]]) -> list[onnx.ValueInfoProto]:
        return [
            onnx.helper.make_tensor_value_info(n, kind, list(dims)) for n, (kind, dims) in tensors.items()
        ]

    first, last = next(iter(inputs)), next(iter(outputs))
    between = list(nodes) or [onnx.helper.make_node("Identity", [first], [last])]
    graph = onnx.helper.make_graph(between, "g", described(inputs), described(outputs))
    onnx.save(
        onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]), path
    )
    return path


def reshaping(path: Path, data: str, target: str) -> Path:
    node = onnx.helper.make_node("Reshape", [data, target], ["y"])
    inputs = {data: (FLOAT, ["n", 16]), target: (INT64, [2])}
    return model(path, inputs, {"y": (FLOAT, ["a", "b"])}, [node])


def logs(shell: Shell, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = shell.folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def document(shell: Shell, onnx_file: Path, log: Path) -> dict[str, Any]:
    """What `recommend --rule median` writes, as the cases are meant."""
    given = ("--logs", log, "--model", onnx_file, "--rule", "median", "--max-rejected", "100%", "--quiet")
    ran = shell.tuner("recommend", *given)
    assert ran.exit_code == 0, ran.err
    return dict(json.loads((shell.folder / "profile.json").read_text()))


def exported(shell: Shell, to: str, *more: str | Path) -> str:
    ran = shell.tuner("export", "profile.json", "--to", to, *more)
    assert ran.exit_code == 0, ran.err
    return ran.out


def handed(name: str) -> Path:
    assert HANDED is not None
    return HANDED / name


class TestOverrideOutsideOfTheRange:
    """C02: an opt moves and min and max stay where they were."""

    def test_it_is_named_before_anything_is_written(self, shell: Shell) -> None:
        path = model(shell.folder / "m.onnx", {"pic": (FLOAT, [1, 3, "h", "w"])}, {"y": (FLOAT, [1])})
        document(shell, path, logs(shell, [{"h": 256, "w": 320}] * 3))
        (shell.folder / "o.json").write_text(json.dumps({"pic": {"opt": [1, 3, 256, 640]}}))
        ran = shell.tuner(
            "export", "profile.json", "--to", "trtexec", "--override", "o.json", "--to-file", "x"
        )
        assert_one_line(ran, "pic", "640", "320")
        assert not (shell.folder / "x").exists()

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        document(shell, handed("C02.onnx"), handed("C02.jsonl"))
        override = handed("C02_override.json")
        ran = shell.tuner(
            "export", "profile.json", "--to", "trtexec", "--override", override, "--to-file", "x"
        )
        assert_one_line(ran, "x", "768", "512")
        assert not (shell.folder / "x").exists()


class TestShapeTensors:
    """C07: an input carries a shape; its values have min, opt and max in that order everywhere."""

    def check(self, shell: Shell, name: str, bounds: tuple[list[int], list[int], list[int]]) -> None:
        low, opt, high = map(tuple, bounds)
        (vector,) = trtexec_profiles(json.loads(exported(shell, "trtexec", "--json")))
        assert vector[name] == (low, opt, high)
        assert onnxruntime_profile(json.loads(exported(shell, "onnxruntime")))[name] == (low, opt, high)
        assert f"min={low!r}, opt={opt!r}, max={high!r}" in exported(shell, "polygraphy-script")
        assert f"min_shape={low!r},\n        opt_shape={opt!r},\n" in exported(shell, "torch-tensorrt")

    def test_values_keep_their_order_in_every_export(self, shell: Shell) -> None:
        path = reshaping(shell.folder / "m.onnx", "rows", "goal")
        rows = [{"n": n, "values": {"goal": [2 * n, 8]}} for n in (3, 6, 12)]
        found = document(shell, path, logs(shell, rows))["profiles"][0]["tensors"]["goal"]
        assert (found["opt"], found["values"]["opt"]) == ([2], [12, 8])
        self.check(shell, "goal", ([6, 8], [12, 8], [24, 8]))

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        tensors = document(shell, handed("C07.onnx"), handed("C07.jsonl"))["profiles"][0]["tensors"]
        assert tensors["data"] == {"min": [2, 16], "opt": [4, 16], "max": [8, 16]}
        self.check(shell, "target", ([4, 8], [8, 8], [16, 8]))

    @needs_handed
    def test_missing_values_are_named(self, shell: Shell) -> None:
        given = ("--logs", handed("C07_novalues.jsonl"), "--model", handed("C07.onnx"), "--rule", "median")
        assert_one_line(shell.tuner("recommend", *given), "target", "values")


class TestOddNames:
    """C08: names with ':' and '/' reach trtexec whole, and ONNX Runtime refuses them aloud."""

    def check(self, shell: Shell, names: Sequence[str], expected: str) -> None:
        vector = json.loads(exported(shell, "trtexec", "--json"))
        assert vector[0] == expected
        ran = shell.tuner("export", "profile.json", "--to", "onnxruntime")
        assert_one_line(ran, *names)
        assert list(json.loads((shell.folder / "profile.json").read_text())["profiles"][0]["tensors"]) == [
            *names
        ]

    def test_any_such_names(self, shell: Shell) -> None:
        inputs = {"a::b": (FLOAT, ["n", 2]), "c/d:1": (FLOAT, ["n"])}
        path = model(shell.folder / "m.onnx", inputs, {"y": (FLOAT, ["n", 2])})
        document(shell, path, logs(shell, [{"n": n} for n in (3, 4, 5)]))
        self.check(shell, [*inputs], "--minShapes='a::b':3x2,'c/d:1':3")

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        document(shell, handed("C08.onnx"), handed("C08.jsonl"))
        expected = "--minShapes='input/image:0':1x32x128x3,'onnx::Conv_1':1x8"
        self.check(shell, ["input/image:0", "onnx::Conv_1"], expected)


class TestTritonBatch:
    """C22 and C23: max_batch_size is the profile's, and the batch stands in no dims."""

    def test_the_maximum_is_the_profiles(self, shell: Shell) -> None:
        shapes = {"x": (FLOAT, ["n", 5])}, {"y": (FLOAT, ["n", 7])}
        document(shell, model(shell.folder / "m.onnx", *shapes), logs(shell, [{"n": n} for n in (2, 3, 12)]))
        config = triton_config(exported(shell, "triton"))
        assert (config.max_batch_size, list(config.input[0].dims), list(config.output[0].dims)) == (
            12,
            [5],
            [7],
        )
        ran = shell.tuner("export", "profile.json", "--to", "triton", "--max-batch-size", "13")
        assert_one_line(ran, "13", "12")

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        document(shell, handed("C22.onnx"), handed("C22.jsonl"))
        assert triton_config(exported(shell, "triton")).max_batch_size == 8
        ran = shell.tuner("export", "profile.json", "--to", "triton", "--max-batch-size", "16")
        assert_one_line(ran, "16", "8")
        document(shell, handed("C23.onnx"), handed("C23.jsonl"))
        config = triton_config(exported(shell, "triton"))
        assert (config.max_batch_size, list(config.input[0].dims)) == (16, [3, 512, 864])
        assert list(config.output[0].dims) == [512, 864, 3]

    def fixed(self, shell: Shell, path: Path) -> Any:
        """A model without any open dimension: the profile is the empty set of shapes."""
        (shell.folder / "profile.json").write_text("{}")
        return triton_config(exported(shell, "triton", "--model", path))

    def test_a_fixed_first_dimension_rules_batching_out(self, shell: Shell) -> None:
        shapes = {"x": (FLOAT, [1, 5])}, {"y": (FLOAT, [1, 7])}
        config = self.fixed(shell, model(shell.folder / "m.onnx", *shapes))
        assert (config.max_batch_size, list(config.input[0].dims), list(config.output[0].dims)) == (
            0,
            [1, 5],
            [1, 7],
        )
        assert exported(shell, "trtexec", "--model", shell.folder / "m.onnx").strip() == ""

    @needs_handed
    def test_the_handed_fixed_model(self, shell: Shell) -> None:
        config = self.fixed(shell, handed("C23_fixed.onnx"))
        assert (config.max_batch_size, list(config.input[0].dims)) == (0, [1, 3, 512, 864])
        assert list(config.output[0].dims) == [1, 512, 864, 3]


class TestInt64:
    """C25: the type that the engine reports, by the release that builds it."""

    def check(self, shell: Shell) -> None:
        for version, expected in (("8.6.1", "TYPE_INT32"), ("10.0", "TYPE_INT64"), ("11", "TYPE_INT64")):
            text = exported(shell, "triton", "--for-version", version)
            assert text.count(f"data_type: {expected}") == 2
        unknown = shell.tuner("export", "profile.json", "--to", "triton")
        assert unknown.out.count("data_type: TYPE_INT64") == 2
        assert "--for-version 8.6" in unknown.err

    def test_any_such_model(self, shell: Shell) -> None:
        shapes = {"tokens": (INT64, ["b", "t"])}, {"y": (INT64, ["b", "t"])}
        rows = [{"b": b, "t": 8} for b in (1, 2, 3)]
        document(shell, model(shell.folder / "m.onnx", *shapes), logs(shell, rows))
        self.check(shell)

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        document(shell, handed("C25.onnx"), handed("C25.jsonl"))
        self.check(shell)


class TestScalars:
    """C26: a scalar is in no profile, has dims [1] with an empty reshape, and rules batching out."""

    def check(self, shell: Shell, found: dict[str, Any], ranged: str) -> None:
        assert list(found["profiles"][0]["tensors"]) == [ranged]
        assert found["model"]["inputs"]["scale"]["shape"] == []
        config = triton_config(exported(shell, "triton"))
        assert config.max_batch_size == 0
        scale = config.input[1]
        assert (scale.name, list(scale.dims), scale.HasField("reshape")) == ("scale", [1], True)
        assert list(scale.reshape.shape) == []
        assert "scale" not in exported(shell, "trtexec")

    def test_any_such_model(self, shell: Shell) -> None:
        inputs = {"rows": (FLOAT, ["n", 9]), "scale": (FLOAT, [])}
        path = model(shell.folder / "m.onnx", inputs, {"y": (FLOAT, ["n", 9])})
        self.check(shell, document(shell, path, logs(shell, [{"n": n} for n in (1, 5, 6)])), "rows")

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        self.check(shell, document(shell, handed("C26.onnx"), handed("C26.jsonl")), "x")


class TestEveryDynamicInput:
    """C28: ONNX Runtime is given all dynamic inputs in all three texts, in the model's order."""

    def test_from_plain_shapes(self, shell: Shell) -> None:
        inputs = {"second": (FLOAT, [1, "k", 3]), "first": (FLOAT, [1, "k"])}
        path = model(shell.folder / "m.onnx", inputs, {"y": (FLOAT, [1, "k"])})
        bounds = {"min": 5, "opt": 9, "max": 20}
        shapes = {
            "first": {b: [1, k] for b, k in bounds.items()},
            "second": {b: [1, k, 3] for b, k in bounds.items()},
        }
        (shell.folder / "profile.json").write_text(json.dumps(shapes))
        options = json.loads(exported(shell, "onnxruntime", "--model", path))
        assert [o.split(",") for o in options.values()] == [
            [f"second:1x{k}x3", f"first:1x{k}"] for k in (5, 9, 20)
        ]

    @needs_handed
    def test_the_handed_files(self, shell: Shell) -> None:
        given = (handed("C28_profile.json"), "--model", handed("C28.onnx"))
        ran = shell.tuner("export", given[0], "--to", "onnxruntime", *given[1:])
        assert json.loads(ran.out)["trt_profile_max_shapes"] == "layout:1x64x3,score:1x64"
