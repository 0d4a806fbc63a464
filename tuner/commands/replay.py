"""`tuner replay`: what a given document costs on given traffic, by known latencies."""

from __future__ import annotations

from typing import Annotated

from tuner.commands import batching_options, options, search_options
from tuner.errors import TunerError, UsageError

ProfileFile = Annotated[
    str | None,
    options.option("--profile", "The document to score.", rich_help_panel="Judging", metavar="FILE"),
]


def replay(
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
    profile: ProfileFile = None,
    model: options.ModelFile = None,
    measurements: options.Measurements = None,
    store: options.StoreUrl = options.DEFAULT_STORE,
    objective: options.Objective = "gpu_time",
    weight: options.Weight = "requests",
    mode: options.ModeName = "enqueue",
    uncovered: options.Uncovered = "exclude",
    batcher: batching_options.Batcher = "none",
    load: batching_options.Load = 1.0,
    contexts: batching_options.Contexts = 1,
    concurrency: batching_options.Concurrency = None,
    unlike_shapes: batching_options.UnlikeShapes = "separate",
    max_batch: batching_options.MaxBatch = None,
    slo: search_options.Slo = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a document on logs, with the same numbers as recommend gives.

    With --batcher the requests wait: response times, and with --slo what the GPU carries.

    Example: tuner replay --logs prod.parquet --profile profile.json
    """
    given = {**locals(), "deployed": profile, "batcher_trials": 1}
    if profile is None:
        raise UsageError("no document given; pass --profile profile.json")
    from tuner.commands.reading import read_logs
    from tuner.commands.replaying import replay_batched
    from tuner.commands.scoring import known_curves, options_of_a_score
    from tuner.recommendation.deployed import read_deployed
    from tuner.recommendation.replayed import replay_document
    from tuner.report.replay_view import replay_json, replay_lines

    known = known_curves(given)
    if isinstance(known.curves, str):
        raise TunerError(known.curves)
    settings = options.recommend_settings(options_of_a_score(given))
    traffic = read_logs(given, known.model)
    batching = batching_options.batching_settings(given)
    if batching is not None:
        replay_batched(given, traffic, known.curves, (settings, batching))
        return
    found = replay_document(read_deployed(profile, traffic.axes), traffic, known.curves, settings)
    if as_json:
        print(replay_json(found), end="")
    elif not quiet:
        print("\n".join(replay_lines(found)))
