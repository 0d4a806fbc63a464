"""`tuner fleet`: several models and kinds of GPU in one night, under one budget of GPU hours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.commands import cluster_options, options

if TYPE_CHECKING:
    from pathlib import Path

    from tuner.commands.fleet_jobs import FleetJob
    from tuner.report.fleet_summary import FleetSummary, JobSummary


def fleet(
    file: Annotated[str, typer.Argument(help="The jobs of the night, like fleet.toml.")],
    ray: cluster_options.Ray = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Recommend for several models and kinds of GPU, spending GPU hours where they save most.

    Example: tuner fleet fleet.toml --ray auto
    """
    from tuner.commands.console import messages
    from tuner.commands.fleet_file import read_fleet
    from tuner.commands.fleet_jobs import run_fleet, spent_s
    from tuner.commands.recommend import recommend
    from tuner.recommendation.output_file import check_writable
    from tuner.report.fleet_summary import FleetSummary, summary_json

    asked = read_fleet(file, recommend)
    asked.folder.mkdir(parents=True, exist_ok=True)
    check_writable(str(asked.folder / "fleet.json"))
    say = (lambda text: None) if quiet or as_json else messages().print
    with cluster_options.joined_cluster({"ray": ray}) as cluster:
        jobs = run_fleet(asked, cluster, say)
    summary = FleetSummary(
        gpu_hours=asked.gpu_hours,
        spent_gpu_hours=spent_s(jobs) / 3600,
        jobs=tuple(_summary_of(job) for job in jobs),
    )
    _write(summary, asked.folder)
    if as_json:
        print(json.dumps(summary_json(summary), indent=2))
    elif not quiet:
        for job in summary.jobs:
            print(f"{job.name}: {job.problem or f'{job.decision}, {job.reason} ({job.document})'}")
        print(f"written: {asked.folder}")
    if summary.failed:
        raise typer.Exit(1)


def _summary_of(job: FleetJob) -> JobSummary:
    from tuner.recommendation.document import gain_over
    from tuner.recommendation.fleet import traffic_seconds
    from tuner.report.fleet_summary import JobSummary

    kind = job.given["gpu_kind"] or "GPU"
    found, standing = job.found, job.standing
    if found is None or standing is None:
        return JobSummary(name=job.name, kind=kind, problem=job.problem or "the GPU hours were spent before")
    rule = found.rules.get("max")
    return JobSummary(
        name=job.name,
        kind=kind,
        document=job.given["out"],
        decision=found.decision,
        reason=found.reason,
        opts=tuple(profile.opt.short for profile in found.chosen.profiles),
        builds=standing.build_count,
        gpu_hours=standing.spent_s / 3600,
        traffic_h=traffic_seconds(found) / 3600,
        saving=None if rule is None else gain_over(rule, found.chosen.tune, rule.tune),
        gap=found.evidence.gap if found.evidence is not None else None,
    )


def _write(summary: FleetSummary, folder: Path) -> None:
    """The summary beside the documents, and its page: HTML where the extra `report` is there, or Markdown."""
    from importlib.util import find_spec

    from tuner.recommendation.output_file import replace_file
    from tuner.report.fleet_summary import summary_contents, summary_json
    from tuner.report.markdown import report_markdown
    from tuner.report.page import page_html

    replace_file(folder / "fleet.json", json.dumps(summary_json(summary), indent=2) + "\n")
    contents = summary_contents(summary)
    if find_spec("plotly") and find_spec("jinja2"):
        replace_file(folder / "fleet.html", page_html(contents))
    else:
        replace_file(folder / "fleet.md", report_markdown(contents))
