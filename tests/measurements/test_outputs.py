"""Tests of the comparison with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.models import save
from tuner.measurements.outputs import OutputError, Reference, relative_error, wrong_outputs


def test_error_is_a_share_of_the_norm() -> None:
    reference = np.array([3.0, 4.0])
    assert relative_error(np.array([3.0, 4.05]), reference) == pytest.approx(0.01)


def test_other_shape_is_infinitely_wrong() -> None:
    assert relative_error(np.zeros((2, 1)), np.zeros(2)) == float("inf")


def test_nan_never_passes() -> None:
    error = relative_error(np.array([np.nan, 1.0]), np.array([1.0, 1.0]))
    assert "off by nan" in str(wrong_outputs([OutputError("y", "batch=1", error)], "fp16"))


def test_limit_depends_on_the_precision() -> None:
    errors = [OutputError("y", "batch=1", 0.005)]
    assert wrong_outputs(errors, "fp16") is None
    assert "fp32 allows 0.001" in str(wrong_outputs(errors, "fp32"))


def test_reference_takes_inputs_in_a_narrower_dtype(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="needs ONNX Runtime: pip install 'trt-profile-tuner[verify]'")
    reference = Reference(str(save("tiny_encoder", tmp_path / "m.onnx")))
    tokens = np.ones((1, 16), np.int32)
    inputs = {"input_ids": tokens, "attention_mask": tokens}
    (error,) = reference.errors(inputs, {"output": np.zeros((1, 16, 32), np.float32)}, "batch=1,seq=16")
    assert error.error == pytest.approx(1.0)
