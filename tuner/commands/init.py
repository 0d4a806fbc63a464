"""`tuner init`: a first `tuner.toml`, written from a model and a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands import options
from tuner.errors import TunerError, UsageError

if TYPE_CHECKING:
    from tuner.model import Model
    from tuner.traffic.open_logs import OpenLogs


def init(
    logs: options.Logs = None,
    axis: options.AxisMapping = None,
    log_kind: options.LogKind = None,
    model: options.ModelFile = None,
    measurements: options.Measurements = None,
) -> None:
    """Write a commented tuner.toml for a model and a log into this folder.

    Example: tuner init --model encoder.onnx --logs prod.parquet
    """
    from pathlib import Path

    from tuner.commands.option_kinds import kinds_of
    from tuner.commands.recommend import recommend
    from tuner.commands.settings_file import FILE_NAME
    from tuner.commands.settings_template import settings_text
    from tuner.recommendation.output_file import replace_file

    if Path(FILE_NAME).exists():
        raise TunerError(f"{FILE_NAME} exists already; move it away first, it is never overwritten")
    if not logs:
        raise UsageError("no logs given; pass --logs FILE, whose columns are looked at")
    opened = _opened(logs, axis, log_kind, _model(model, measurements))
    found, reasons = _found(opened)
    found |= {"logs": logs} | ({"model": model} if model else {})
    found |= {"measurements": measurements} if measurements else {}
    heading = "Settings of tuner for this folder; a line that starts with # shows a default."
    replace_file(FILE_NAME, settings_text(kinds_of(recommend), found, reasons, heading))
    print(f"written: {FILE_NAME}; next: tuner config, then tuner recommend")


def _model(model: str | None, measurements: str | None) -> Model | None:
    if model is not None:
        from tuner.onnx_file import read_onnx

        return read_onnx(model)
    if measurements is None or "://" in measurements:
        return None
    from tuner.measurements.flat_parquet import read_flat

    return read_flat(measurements).model


def _opened(logs: list[str], axis: list[str] | None, log_kind: str | None, model: Model | None) -> OpenLogs:
    from tuner.settings import LogSettings
    from tuner.traffic.open_logs import open_logs

    mapping = options.pairs("--axis", axis)
    return open_logs(LogSettings(logs=tuple(logs), axes=mapping, log_kind=log_kind), model, (None, None))


def _found(opened: OpenLogs) -> tuple[dict[str, Any], dict[str, str]]:
    """Keys with their values, and why: from the first file, since one mapping holds for all."""
    columns, question = opened.columns[0], opened.question
    found: dict[str, Any] = {"log_kind": question.log_kind}
    reasons = {"log_kind": "by the columns; a row may also be one executed batch: batches"}
    for key in ("count", "time"):
        name = getattr(columns, key)
        if name is not None:
            found[key] = name
    axes = {}
    for name, column in zip(question.axes, columns.axes, strict=True):
        if column is not None:
            axes[name] = question.settings.axes.get(name) or column.name
            reasons[f"axis.{name}"] = str(column)
    shapes = {shape.tensor.name: shape.name for shape in columns.shapes}
    return {**found, "axis": axes, "shape": shapes}, reasons
