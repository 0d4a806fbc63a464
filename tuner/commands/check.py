"""`tuner check`: does the deployed document still fit today's traffic?"""

from __future__ import annotations

from typing import Any

import typer

from tuner.commands import cluster_options, deployed_options, options
from tuner.errors import UsageError

DRIFT = 4
"""Exit code: the traffic has drifted away from the deployed document."""


def check(
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
    objective: options.Objective = "gpu_time",
    weight: options.Weight = "requests",
    mode: options.ModeName = "enqueue",
    uncovered: options.Uncovered = "exclude",
    profiles: options.Profiles = None,
    max_profiles: options.MaxProfiles = 3,
    seed: options.Seed = 0,
    deployed: deployed_options.DeployedFile = None,
    min_gain: deployed_options.MinGain = deployed_options.DEFAULT_MIN_GAIN,
    max_shift: deployed_options.MaxShift = deployed_options.DEFAULT_MAX_SHIFT,
    max_uncovered: deployed_options.MaxUncovered = deployed_options.DEFAULT_MAX_UNCOVERED,
    metrics: deployed_options.Metrics = None,
    ray: cluster_options.Ray = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare today's traffic with the deployed document, without a GPU; exit 4 where it has drifted.

    Example: tuner check --logs prod.parquet --deployed profile.json
    """
    given = locals()
    if deployed is None:
        raise UsageError("no deployed document given; pass --deployed profile.json")
    from tuner.commands.scoring import known_curves, options_of_a_score
    from tuner.recommendation.check import check_deployed
    from tuner.recommendation.deployed import read_deployed
    from tuner.recommendation.output_file import check_writable, replace_file
    from tuner.report.check_view import check_json, check_lines, check_metrics

    if metrics is not None:
        check_writable(metrics)
    settings = options.recommend_settings(options_of_a_score(given))
    found_curves = known_curves(given)
    traffic = _read(given, found_curves)
    found = check_deployed(
        traffic,
        read_deployed(deployed, traffic.axes),
        found_curves.curves,
        settings,
        deployed_options.check_limits(given),
    )
    if metrics is not None:
        replace_file(metrics, check_metrics(found))
    if as_json:
        print(check_json(found), end="")
    elif not quiet:
        print("\n".join(check_lines(found)))
    if found.is_drift:
        raise typer.Exit(DRIFT)


def _read(given: dict[str, Any], known: Any) -> Any:
    from tuner.commands.reading import read_logs

    with cluster_options.joined_cluster(given) as cluster:
        return read_logs(given, known.model, cluster)
