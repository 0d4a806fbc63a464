"""`tuner recommend`: the main job."""

from __future__ import annotations

from typing import Any

from tuner.commands import export_options, options
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
    seed: options.Seed = 0,
    out: options.Out = "profile.json",
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
    from tuner.recommendation.document import as_document, document_text, write_document
    from tuner.recommendation.output_file import check_writable

    if rule is None and model is None and measurements is None:
        raise TunerError(
            "nothing to judge by: pass --measurements FILE (recorded latencies), --model FILE.onnx (whose "
            "measurements are in the store), or --rule NAME for an unmeasured profile"
        )
    check_writable(out)
    if to is not None:
        export_options.check_export(given)
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
    if to is not None:
        export_options.write_export({**given, "document": out})


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
    from tuner.measurements.opening import open_recorded
    from tuner.measurements.store import open_store
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.recommend import recommend as run

    settings = options.recommend_settings(given)
    model = read_onnx(given["model"]) if given["model"] else None
    with open_store(given["store"]) as store:
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
