"""`tuner build`: the engine of a document, for a build pipeline."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.commands import engine_options, export_options, options
from tuner.errors import UsageError


def build(
    document: Annotated[str, typer.Argument(help="The document that tuner recommend wrote.")],
    model: options.ModelFile = None,
    out: options.EngineOut = "model.engine",
    override: export_options.Override = None,
    precision: engine_options.Precision = "fp16",
    flavour: engine_options.Flavour = "tensorrt",
    optimization_level: engine_options.OptimizationLevel = None,
    tactic_sources: engine_options.TacticSources = None,
    workspace: engine_options.Workspace = None,
    workspace_cap: engine_options.WorkspaceCap = engine_options.DEFAULT_WORKSPACE_CAP,
    engine_folder: engine_options.Folder = engine_options.DEFAULT_FOLDER,
    time_limit: engine_options.TimeLimit = engine_options.DEFAULT_TIME_LIMIT,
    memory_limit: engine_options.MemoryLimit = None,
    device: engine_options.Device = 0,
    quiet: options.Quiet = False,
) -> None:
    """Build the recommended profile set as one engine, and write its digest and settings beside it.

    Example: tuner build profile.json --model model.onnx --out model.engine
    """
    given = {**locals(), "timing_cache": False, "verify_outputs": False}
    if model is None:
        raise UsageError("tuner build needs the model; pass --model FILE.onnx")
    from pathlib import Path

    from tuner.engines.builder import build_job
    from tuner.engines.deliver import deliver
    from tuner.engines.memory_need import refuse_impossible
    from tuner.engines.spec import EngineSpec
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.checked_document import read_document
    from tuner.recommendation.output_file import check_writable

    check_writable(out)
    read = read_onnx(model)
    profiles = read_document(document, read, override).profile_set
    choices = engine_options.build_choices(given)
    tools = engine_options.tools(given, needs_gpu=False)
    spec = EngineSpec(
        model_hash=read.content_hash or "",
        profiles=profiles,
        precision=choices.precision,
        builder_options=choices.options.text,
        environment=tools.environment,
    )
    refuse_impossible(read, profiles, tools.gpu_bytes)
    needs_gpu = tools.gpu_bytes is not None
    job = build_job(spec, read, Path(model).resolve(), Path(out).resolve(), needs_gpu=needs_gpu)
    made = deliver(tools.builder, spec, job)
    if not quiet:
        print(
            f"written: {out} ({made.built.plan_bytes} bytes, {len(profiles)} profiles, {choices.precision})"
        )
        print(f"written: {made.facts_path.name} (sha256 {made.built.plan_digest})")
