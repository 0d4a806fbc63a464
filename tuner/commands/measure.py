"""`tuner measure`: the performance curve of one engine."""

from __future__ import annotations

from tuner.commands import cluster_options, engine_options, options
from tuner.errors import UsageError


def measure(
    model: options.ModelFile = None,
    sweep: options.Sweep = None,
    opt: options.Opt = None,
    contexts: options.Contexts = None,
    csv: options.CsvOut = None,
    store: options.StoreUrl = options.DEFAULT_STORE,
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
    ray: cluster_options.Ray = None,
    gpu_kind: cluster_options.GpuKind = None,
    quiet: options.Quiet = False,
) -> None:
    """Time one engine over a sweep of sizes: latencies, throughput and where more work stops paying.

    Example: tuner measure --model model.onnx --sweep batch=1..128
    """
    given = locals()
    if model is None or not sweep:
        raise UsageError("tuner measure needs --model FILE.onnx and --sweep AXIS=LOW..HIGH for each axis")
    if ray is not None and contexts is not None:
        raise UsageError("--contexts is measured on this machine only; leave out --ray")
    from pathlib import Path

    from tuner.axes import Size
    from tuner.measurements.store import open_store
    from tuner.measurements.sweep import sweep_profile, sweep_rows, sweep_sizes
    from tuner.onnx_file import read_onnx
    from tuner.profiles.profile import ProfileSet
    from tuner.recommendation.output_file import check_writable, replace_file
    from tuner.report.performance_curve import sharing_view, sweep_csv, sweep_view

    if csv is not None:
        check_writable(csv)
    read = read_onnx(Path(model))
    sizes = sweep_sizes(read, options.pairs("--sweep", sweep))
    wanted = None if opt is None else Size.from_mapping(Size.parse(opt).as_dict(), read.axes)
    profiles = ProfileSet((sweep_profile(sizes, wanted),))
    with open_store(store) as opened, cluster_options.joined_cluster(given) as cluster:
        places = [(0, size) for size in sizes]
        if cluster is None:
            bench = engine_options.bench(given, read, opened)
            engine = bench.swept(profiles, places)
        else:
            builders = cluster_options.builders_on(cluster, given)
            bench = engine_options.bench(given, read, opened, builders.tools)
            engine = builders.swept(bench, profiles, places)
        timed = opened.measurements(engine.spec.key, engine.repeat)
        rows = sweep_rows(read, (engine.device_memory_bytes, timed), sizes)
        shared = engine_options.contexts_timed(bench, opened, profiles.profiles[0], contexts)
    if csv is not None:
        replace_file(csv, sweep_csv(rows))
    if not quiet:
        from tuner.commands.console import results

        results().print(sweep_view(rows, engine.device_memory_bytes))
        results().print(sharing_view(shared, engine))
