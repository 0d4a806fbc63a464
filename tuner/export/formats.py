"""The export formats by name."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import UsageError, nearest_name
from tuner.export.aitune import aitune
from tuner.export.exported import Exporter
from tuner.export.onnxruntime import onnxruntime_json, onnxruntime_python
from tuner.export.plain import csv_table, markdown_table
from tuner.export.polygraphy import polygraphy_arguments, polygraphy_script
from tuner.export.torch_tensorrt import torch_tensorrt
from tuner.export.triton import triton
from tuner.export.trtexec import trtexec

FORMATS: Mapping[str, Exporter] = {
    "trtexec": trtexec,
    "polygraphy": polygraphy_arguments,
    "polygraphy-script": polygraphy_script,
    "onnxruntime": onnxruntime_json,
    "onnxruntime-python": onnxruntime_python,
    "torch-tensorrt": torch_tensorrt,
    "triton": triton,
    "aitune": aitune,
    "csv": csv_table,
    "markdown": markdown_table,
}


def exporter_named(name: str) -> Exporter:
    if name not in FORMATS:
        raise UsageError(f"--to is '{name}'{nearest_name(name, FORMATS)}; accepted are {', '.join(FORMATS)}")
    return FORMATS[name]
