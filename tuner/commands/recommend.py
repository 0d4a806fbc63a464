"""`tuner recommend`: the main job."""

from __future__ import annotations

from typing import Any

from tuner.commands import engine_options, options
from tuner.errors import TunerError


def recommend(
    logs: options.Logs = None,
    axis: options.AxisMapping = None,
    shape: options.ShapeMapping = None,
    count: options.Count = None,
    time: options.Time = None,
    time_unit: options.TimeUnit = None,
    log_kind: options.LogKind = None,
    since: options.Since = None,
    until: options.Until = None,
    align: options.Align = None,
    cap: options.Cap = None,
    max_rejected: options.MaxRejected = options.DEFAULT_MAX_REJECTED,
    strict: options.Strict = False,
    model: options.ModelFile = None,
    measurements: options.Measurements = None,
    store: options.StoreUrl = options.DEFAULT_STORE,
    rule: options.Rule = None,
    objective: options.Objective = "gpu_time",
    weight: options.Weight = "requests",
    mode: options.ModeName = "enqueue",
    uncovered: options.Uncovered = "exclude",
    profiles: options.Profiles = None,
    max_profiles: options.MaxProfiles = 3,
    builds: options.Builds = 64,
    max_hours: options.MaxHours = None,
    seed: options.Seed = 0,
    precision: engine_options.Precision = "fp16",
    flavour: engine_options.Flavour = "tensorrt",
    optimization_level: engine_options.OptimizationLevel = None,
    tactic_sources: engine_options.TacticSources = None,
    workspace: engine_options.Workspace = None,
    workspace_cap: engine_options.WorkspaceCap = engine_options.DEFAULT_WORKSPACE_CAP,
    timing_cache: engine_options.TimingCache = False,
    verify_outputs: engine_options.VerifyOutputs = False,
    engine_folder: engine_options.Folder = engine_options.DEFAULT_FOLDER,
    time_limit: engine_options.TimeLimit = engine_options.DEFAULT_TIME_LIMIT,
    memory_limit: engine_options.MemoryLimit = None,
    device: engine_options.Device = 0,
    out: options.Out = "profile.json",
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Recommend the profile set that serves the logged traffic best.

    Example: tuner recommend --logs prod.parquet --measurements h200.parquet --axis seq=tokens
    """
    given = locals()
    from tuner.recommendation.document import as_document, document_text, write_document
    from tuner.recommendation.output_file import check_writable

    if rule is None and model is None and measurements is None:
        raise TunerError(
            "nothing to judge by: pass --measurements FILE (recorded latencies), --model FILE.onnx (whose "
            "measurements are in the store), or --rule NAME for an unmeasured profile"
        )
    check_writable(out)
    found = _by_rule(given) if rule is not None else _by_measurements(given)
    document = as_document(found)
    write_document(out, document)
    if as_json:
        print(document_text(document), end="")
    elif not quiet:
        from tuner.commands.console import results
        from tuner.report.terminal import recommendation_view

        results().print(recommendation_view(found))
        print(f"written: {out}")


def _by_rule(given: dict[str, Any]) -> Any:
    from tuner.commands.reading import read_logs
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.by_rule import recommend_by_rule

    model = read_onnx(given["model"]) if given["model"] else None
    cap = options.whole_numbers("--cap", given["cap"])
    return recommend_by_rule(
        read_logs(given, model), model, given["rule"], profiles=given["profiles"] or 1, cap=cap
    )


def _by_measurements(given: dict[str, Any]) -> Any:
    from tuner.commands.console import progress_bar
    from tuner.commands.reading import read_logs
    from tuner.measurements.gpu_state import gpu_facts
    from tuner.measurements.opening import open_recorded
    from tuner.measurements.store import open_store
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.recommend import recommend as run

    settings = options.recommend_settings(given)
    model = read_onnx(given["model"]) if given["model"] else None
    with open_store(given["store"]) as store:
        builds_here = model is not None and given["measurements"] is None and gpu_facts(given["device"])
        if model is not None and builds_here:
            traffic = read_logs(given, model)
            source: Any = _built_source(given, model, store, traffic)
        else:
            source = open_recorded(store, given["measurements"], model)
            traffic = read_logs(given, source.model)
        with progress_bar("searching", quiet=given["quiet"]) as advance:
            return run(
                traffic,
                source,
                settings,
                store.url,
                lambda trial, left: advance(
                    trial.number + 1, trial.number + 1 + left, f"opt {trial.profile.opt.short}"
                ),
            )


def _built_source(given: dict[str, Any], model: Any, store: Any, traffic: Any) -> Any:
    """Real engines: there is a model, a GPU, and nothing recorded was asked for."""
    from tuner.measurements.built_source import BuildBudget, BuiltSource
    from tuner.recommendation.scored import under_cap

    hours = given["max_hours"]
    budget = BuildBudget(builds=given["builds"], seconds=None if hours is None else hours * 3600)
    inside = under_cap(traffic.histogram, options.whole_numbers("--cap", given["cap"]))
    return BuiltSource(engine_options.bench(given, model, store), traffic.histogram.where(inside), budget)
