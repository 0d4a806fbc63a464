"""`tuner recommend`: the main job."""

from __future__ import annotations

from tuner.commands import (
    batching_options,
    cluster_options,
    deployed_options,
    engine_options,
    export_options,
    options,
    search_options,
)
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
    sampler: search_options.Sampler = search_options.DEFAULT_SAMPLER,
    slo: search_options.Slo = None,
    pareto: search_options.Pareto = False,
    explain: search_options.Explain = False,
    confirm: search_options.Confirm = 1,
    wait: search_options.Wait = False,
    batcher: batching_options.Batcher = "none",
    load: batching_options.Load = 1.0,
    contexts: batching_options.Contexts = 1,
    concurrency: batching_options.Concurrency = None,
    unlike_shapes: batching_options.UnlikeShapes = "separate",
    max_batch: batching_options.MaxBatch = None,
    batcher_trials: batching_options.BatcherTrials = batching_options.DEFAULT_TRIALS,
    latency: batching_options.Latency = None,
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
    deployed: deployed_options.DeployedFile = None,
    min_gain: deployed_options.MinGain = deployed_options.DEFAULT_MIN_GAIN,
    max_shift: deployed_options.MaxShift = deployed_options.DEFAULT_MAX_SHIFT,
    max_uncovered: deployed_options.MaxUncovered = deployed_options.DEFAULT_MAX_UNCOVERED,
    force: deployed_options.Force = False,
    ray: cluster_options.Ray = None,
    gpu_kind: cluster_options.GpuKind = None,
    at_once: cluster_options.AtOnce = None,
    out: options.Out = "profile.json",
    report: options.Report = None,
    to: export_options.To = None,
    to_file: export_options.ToFile = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Recommend the profile set that serves the logged traffic best.

    Example: tuner recommend --logs prod.parquet --measurements h200.parquet --axis seq=tokens
    """
    given = locals()
    from tuner.commands.recommending import by_measurements, by_rule, check_outputs, show

    if rule is None and model is None and measurements is None:
        raise TunerError(
            "nothing to judge by: pass --measurements FILE (recorded latencies), --model FILE.onnx (whose "
            "measurements are in the store), or --rule NAME for an unmeasured profile"
        )
    check_outputs(given)
    found = by_rule(given) if rule is not None else by_measurements(given)
    show(given, found)
