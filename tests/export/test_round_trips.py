"""Every export parses back to the same profiles, or names the input that the consumer cannot carry."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.export import consumer_parsers as consumers
from tests.export.consumer_parsers import shapes_of
from tests.strategies import documents, plain_names
from tuner.errors import TunerError
from tuner.export.exported import ExportOptions
from tuner.export.formats import FORMATS
from tuner.recommendation.profile_document import ProfileDocument

_FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
BOUNDS = ("min", "opt", "max")


def export(to: str, document: ProfileDocument, **options: Any) -> str:
    return FORMATS[to](document, ExportOptions(**options)).text


@_FEW
@given(documents())
def test_trtexec_reads_the_same_profiles_or_the_input_is_named(document: ProfileDocument) -> None:
    broken = [name for name in document.tensor_ranges[0] if set(name) & set("',*")]
    if broken:
        with pytest.raises(TunerError, match=re.escape(repr(broken[0]))):
            export("trtexec", document)
        return
    vector = json.loads(export("trtexec", document, as_json=True))
    assert consumers.trtexec_profiles(vector) == shapes_of(document)
    assert shlex.split(export("trtexec", document)) == vector


@_FEW
@given(documents())
def test_polygraphy_reads_the_same_profiles_and_its_patterns_match_the_names(
    document: ProfileDocument,
) -> None:
    names = list(document.tensor_ranges[0])
    assume(not any(name.startswith("-") for name in names))
    vector = json.loads(export("polygraphy", document, as_json=True))
    assert shlex.split(export("polygraphy", document)) == vector
    for found, wanted in zip(consumers.polygraphy_profiles(vector), shapes_of(document), strict=True):
        matched = consumers.matched_names(list(found), names)
        assert {name: found[pattern] for name, pattern in matched.items()} == wanted


@_FEW
@given(documents())
def test_a_polygraphy_script_holds_the_same_profiles(document: ProfileDocument) -> None:
    names = list(document.tensor_ranges[0])
    profiles = consumers.polygraphy_script_profiles(export("polygraphy-script", document))
    for found, wanted in zip(profiles, shapes_of(document), strict=True):
        matched = consumers.matched_names(list(found), names)
        assert {name: found[pattern] for name, pattern in matched.items()} == wanted


@_FEW
@given(documents())
def test_onnxruntime_reads_the_single_profile_or_the_inputs_are_named(document: ProfileDocument) -> None:
    assume(len(document.profiles) == 1)
    refused = [name for name in document.tensor_ranges[0] if set(name) & set(":,")]
    if refused:
        with pytest.raises(TunerError, match=re.escape(", ".join(refused))):
            export("onnxruntime", document)
        return
    options = json.loads(export("onnxruntime", document))
    assert [consumers.onnxruntime_profile(options)] == shapes_of(document)
    assert consumers.run(export("onnxruntime-python", document))["tensorrt_options"] == options


@_FEW
@given(documents())
def test_torch_tensorrt_inputs_are_the_models_in_order_with_the_same_ranges(
    document: ProfileDocument,
) -> None:
    found = consumers.run(export("torch-tensorrt", document), consumers.torch_modules())["inputs"]
    model, shapes = document.model, shapes_of(document)
    assert model is not None
    assert [i.given["dtype"] for i in found] == [f"torch.{t.dtype}" for t in model.inputs]
    for tensor, one in zip(model.inputs, found, strict=True):
        ranges = [profile[tensor.name] for profile in shapes if tensor.name in profile]
        assert _torch_ranges(one.given) == (ranges or [(tensor.shape({}),) * 3])
        assert one.given.get("is_shape_tensor", False) == tensor.is_shape_tensor


def _torch_ranges(given: dict[str, Any]) -> list[tuple[Any, ...]]:
    if "shape" in given:
        return [(given["shape"],) * 3]
    profiles = given.get("profiles", [given])
    return [tuple(one[f"{bound}_shape"] for bound in BOUNDS) for one in profiles]


@_FEW
@given(documents())
def test_aitune_profiles_hold_the_same_shapes_by_input(document: ProfileDocument) -> None:
    found = consumers.run(export("aitune", document), consumers.aitune_modules())["profiles"]
    assert [profile.added for profile in found] == shapes_of(document)


@_FEW
@given(documents())
def test_csv_holds_every_shape_and_value(document: ProfileDocument) -> None:
    rows = list(csv.DictReader(io.StringIO(export("csv", document))))
    assert _from_rows(rows, len(document.profiles)) == shapes_of(document)


@_FEW
@given(documents(plain_names))
def test_markdown_holds_every_shape_and_value(document: ProfileDocument) -> None:
    lines = export("markdown", document).splitlines()
    cells = [line[2:-2].split(" | ") for line in lines]
    rows = [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]
    assert _from_rows(rows, len(document.profiles)) == shapes_of(document)


def _from_rows(rows: list[dict[str, str]], count: int) -> list[consumers.Shapes]:
    found: list[consumers.Shapes] = [{} for _ in range(count)]
    for row in rows:
        shapes = tuple(tuple(int(d) for d in row[b].split("x") if d) for b in BOUNDS)
        found[int(row["profile"])][row["name"]] = shapes  # type: ignore[assignment]
    return found


@_FEW
@given(documents(plain_names))
def test_triton_lists_every_profile_and_every_input(document: ProfileDocument) -> None:
    assume(len(document.profiles) == 1)
    config = consumers.triton_config(export("triton", document))
    model = document.model
    assert model is not None
    assert [t.name for t in config.input] == [t.name for t in model.inputs]
    assert list(config.instance_group[0].profile) == ["0"]
    skipped = 0 if config.max_batch_size == 0 else 1
    for tensor, written in zip(model.inputs, config.input, strict=True):
        dims = [d if isinstance(d, int) else -1 for d in tensor.dims[skipped:]]
        assert list(written.dims) == (dims or [1])
        assert written.HasField("reshape") == (not dims)


@_FEW
@given(documents())
def test_triton_keeps_odd_names(document: ProfileDocument) -> None:
    assume(len(document.profiles) == 1)
    config = consumers.triton_config(export("triton", document))
    assert document.model is not None
    assert [t.name for t in config.input] == [t.name for t in document.model.inputs]
