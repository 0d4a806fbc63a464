"""The summary of a fleet's night: one record as JSON, and the same as the contents of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from tuner.report.contents import Contents, Json, Section, Table, table

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSummary:
    """One job; None is a fact that is not known, as are all but the first ones of a job that failed.

    `traffic_h` is GPU hours a day that the traffic takes with the set to run, `gap` the share of it that a
    further build may still save, `saving` the share that the set saves against the rule opt = max.
    """

    name: str
    kind: str
    problem: str | None = None
    document: str | None = None
    decision: str | None = None
    reason: str | None = None
    opts: tuple[str, ...] = ()
    builds: int = 0
    gpu_hours: float = 0.0
    traffic_h: float | None = None
    saving: float | None = None
    gap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSummary:
    """What a night of several jobs came to."""

    gpu_hours: float
    spent_gpu_hours: float
    jobs: tuple[JobSummary, ...]

    @property
    def failed(self) -> tuple[JobSummary, ...]:
        return tuple(job for job in self.jobs if job.problem is not None)


def summary_json(summary: FleetSummary) -> Json:
    """Stable keys, in the order of the jobs."""
    return {"schema_version": SCHEMA_VERSION, **asdict(summary)}


def summary_contents(summary: FleetSummary) -> Contents:
    """The page: a row a job, and the problems of those that failed."""
    changed = sum(job.decision == "change" for job in summary.jobs)
    kept = sum(job.decision == "keep" for job in summary.jobs)
    return Contents(
        title="Fleet",
        decision=f"{changed} of {len(summary.jobs)} jobs change, {kept} keep, {len(summary.failed)} failed",
        reason=f"{summary.spent_gpu_hours:.3g} of {summary.gpu_hours:g} GPU hours were spent",
        facts=tuple((job.name, f"{job.kind}, {_told(job)}") for job in summary.jobs),
        caveats=tuple((job.name, job.problem or "") for job in summary.failed),
        sections=(Section("jobs", "Jobs", (), (_table(summary.jobs),)),),
    )


def _told(job: JobSummary) -> str:
    return job.problem or f"{job.decision}: {job.reason}; {job.document}"


def _table(jobs: Sequence[JobSummary]) -> Table:
    return table(
        "fleet",
        "Each job of the night",
        {
            "job": ("text", [job.name for job in jobs]),
            "GPU": ("text", [job.kind for job in jobs]),
            "decision": ("text", [job.decision or "failed" for job in jobs]),
            "opts": ("text", [" ".join(job.opts) for job in jobs]),
            "builds": ("number", [job.builds for job in jobs]),
            "GPU hours spent": ("number", [job.gpu_hours for job in jobs]),
            "GPU hours a day": ("number", [job.traffic_h for job in jobs]),
            "saved against opt = max": ("gain", [job.saving for job in jobs]),
            "still to be had": ("share", [job.gap for job in jobs]),
        },
        "GPU hours a day are those of the traffic with the set to run; what is still to be had is what the "
        "latency model expects of the best further build.",
    )
