"""ONNX Runtime's provider options: one profile, all inputs in model order, names it would misread refused."""

from __future__ import annotations

import json

import pytest

from tests.export.consumer_parsers import onnxruntime_profile, run
from tests.export.written_documents import THREE, document_of, encoder
from tuner.errors import TunerError
from tuner.export.exported import ExportOptions
from tuner.export.onnxruntime import PROFILE_ZERO, onnxruntime_json, onnxruntime_python


def test_the_best_single_profile_is_exported_and_said() -> None:
    document = document_of(encoder(), THREE, alternatives={"profile_zero": (THREE[2],)})
    exported = onnxruntime_json(document, ExportOptions())
    assert json.loads(exported.text) == {
        "trt_profile_min_shapes": "input_ids:1x16,attention_mask:1x16",
        "trt_profile_opt_shapes": "input_ids:64x512,attention_mask:64x512",
        "trt_profile_max_shapes": "input_ids:64x512,attention_mask:64x512",
    }
    assert exported.notes[-1] == PROFILE_ZERO
    assert "in place of the document's 3" in exported.notes[0]


def test_an_alternative_of_several_profiles_is_refused() -> None:
    document = document_of(encoder(), THREE, alternatives={"first_fit": THREE[:2]})
    with pytest.raises(TunerError, match="runs profile 0 only, so leave --alternative out"):
        onnxruntime_json(document, ExportOptions(alternative="first_fit"))


def test_the_source_is_taken_by_a_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    x = onnx.helper.make_tensor_value_info("x", 1, ["n"])
    y = onnx.helper.make_tensor_value_info("y", 1, ["n"])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 17)])
    scope = run(onnxruntime_python(document_of(encoder(), THREE[:1]), ExportOptions()).text)
    # A session leaves providers that are not installed out with a warning; the rest has to fit.
    known = onnxruntime.get_available_providers()
    providers = [p for p in scope["providers"] if (p if isinstance(p, str) else p[0]) in known]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=providers)
    assert session.get_providers()[-1] == "CPUExecutionProvider"
    name, options = scope["providers"][0]
    assert name in onnxruntime.get_all_providers()
    assert onnxruntime_profile(options)["input_ids"] == ((1, 16), (4, 32), (4, 64))
