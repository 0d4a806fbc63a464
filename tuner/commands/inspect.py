"""`tuner inspect`: what a log asks for, before anything is recommended."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.commands import cluster_options, options
from tuner.errors import UsageError

TrafficOut = Annotated[
    str | None,
    options.option(
        "--out",
        "Write the size histogram as a traffic file (Parquet).",
        metavar="FILE",
        rich_help_panel="Output",
    ),
]


def inspect(
    context: typer.Context,
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
    ray: cluster_options.Ray = None,
    out: TrafficOut = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show the sizes that logs ask for: percentiles, heaviest sizes, drift, and what was left out.

    Example: tuner inspect --logs prod.parquet --axis seq=tokens
    """
    given = {name: value for name, value in locals().items() if name != "context"}
    out = _traffic_path(context, out)
    from tuner.commands.console import results
    from tuner.commands.reading import traffic_of
    from tuner.onnx_file import read_onnx
    from tuner.report.traffic_summary import summary_as_json, summary_of
    from tuner.traffic.reading import refuse_too_many_rejections
    from tuner.traffic.traffic_file import check_traffic_path, write_traffic

    if out is not None:
        check_traffic_path(out)
    settings = options.log_settings(given)
    read = read_onnx(model) if model else None
    with cluster_options.joined_cluster(given) as cluster:
        traffic = traffic_of(settings, read, quiet=quiet, cluster=cluster)
    summary = summary_of(traffic)
    if as_json:
        import json

        print(json.dumps(summary_as_json(summary), indent=2))
    elif not quiet:
        from tuner.report.traffic_view import traffic_view

        results().print(traffic_view(summary))
    refuse_too_many_rejections(traffic, settings)
    if out is not None:
        write_traffic(traffic, out)
        if not (quiet or as_json):
            print(f"written: {out}")


def _traffic_path(context: typer.Context, out: str | None) -> str | None:
    """Where the traffic file goes; one that `tuner.toml` has for a document is not it."""
    if out is None or out.endswith(".parquet"):
        return out
    source = context.get_parameter_source("out")
    if source is not None and source.name == "COMMANDLINE":
        raise UsageError(f"--out {out}: a traffic file is Parquet; name it like --out traffic.parquet")
    return None
