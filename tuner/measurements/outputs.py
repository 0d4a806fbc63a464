"""Compares an engine's outputs with ONNX Runtime's on the CPU: a fast engine that is wrong is no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuner.errors import TunerError
from tuner.measurements.input_fill import Array
from tuner.measurements.runner import Outputs

ERROR_LIMITS: Mapping[str, float] = {
    "fp32": 1e-3, "tf32": 5e-3, "fp16": 2e-2, "bf16": 5e-2, "int8": 0.2, "fp8": 0.2,
}  # fmt: skip
"""Largest relative error by precision: the norm of the difference over the norm of the reference."""


@dataclass(frozen=True, slots=True)
class OutputError:
    """How far one output at one size is from the reference; NaN counts as wrong."""

    output: str
    size: str
    error: float


class Reference:
    """The model on ONNX Runtime's CPU provider; TunerError with the extra to install where it is missing."""

    def __init__(self, model_path: str) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise TunerError(
                f"--verify-outputs needs ONNX Runtime ({error}); install it with "
                "pip install 'trt-profile-tuner[verify]'"
            ) from error
        self._session: Any = onnxruntime.InferenceSession(model_path, providers=["CPUExecutionProvider"])

    def errors(self, inputs: Outputs, outputs: Outputs, size: str) -> list[OutputError]:
        """The error of every output for these inputs, which may be in a narrower dtype than the model's."""
        dtypes = {tensor.name: _numpy_dtype(tensor.type) for tensor in self._session.get_inputs()}
        feeds = {name: array.astype(dtypes[name]) for name, array in inputs.items()}
        names = [output.name for output in self._session.get_outputs() if output.name in outputs]
        references = self._session.run(names, feeds)
        return [
            OutputError(name, size, relative_error(outputs[name], reference))
            for name, reference in zip(names, references, strict=True)
        ]


def relative_error(found: Array, reference: Array) -> float:
    """Norm of the difference over norm of the reference, in float64; infinite for another shape."""
    if found.shape != reference.shape:
        return float("inf")
    wanted = reference.astype(np.float64).ravel()
    difference = np.linalg.norm(found.astype(np.float64).ravel() - wanted)
    return float(difference / max(float(np.linalg.norm(wanted)), np.finfo(np.float64).tiny))


def wrong_outputs(errors: list[OutputError], precision: str) -> str | None:
    """What is wrong, worst first, or None where every output is within the limit."""
    limit = ERROR_LIMITS[precision]
    wrong = [e for e in errors if not e.error <= limit]
    if not wrong:
        return None
    worst = max(wrong, key=lambda e: np.inf if np.isnan(e.error) else e.error)
    return (
        f"output {worst.output} at {worst.size} is off by {worst.error:.3g} of its norm, {precision} allows "
        f"{limit:g} ({len(wrong)} of {len(errors)} outputs are wrong); try a wider precision"
    )


def _numpy_dtype(onnx_type: str) -> np.dtype[Any]:
    inner = onnx_type.removeprefix("tensor(").removesuffix(")")
    return np.dtype({"float": "float32", "double": "float64"}.get(inner, inner))
