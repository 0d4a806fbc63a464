"""What the user asked for, as frozen records that the rooms take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.errors import TunerError

LOG_KINDS = ("requests", "batches", "histogram", "cumulative", "counters")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """Where the logs are and how their rows read.

    `axes` maps an axis to a column, a JSON path, a number or a scaled column (`bytes/4`); `shapes` maps an
    input tensor to a column that holds its whole shape. `align` rounds an axis up to a multiple; `cap` says
    how large the requests above the last bound of cumulative buckets can be. `max_rejected` is a share from
    0 to 1.
    """

    logs: tuple[str, ...]
    axes: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, str] = field(default_factory=dict)
    count: str | None = None
    time: str | None = None
    time_unit: str | None = None
    log_kind: str | None = None
    since: str | None = None
    until: str | None = None
    align: Mapping[str, int] = field(default_factory=dict)
    cap: Mapping[str, int] = field(default_factory=dict)
    max_rejected: float = 0.01
    strict: bool = False

    def __post_init__(self) -> None:
        if not self.logs:
            raise TunerError("no logs given; pass --logs FILE (a file, folder, quoted glob or URL)")
        if self.log_kind is not None and self.log_kind not in LOG_KINDS:
            raise TunerError(f"--log-kind is '{self.log_kind}'; accepted are {', '.join(LOG_KINDS)}")
        if not 0 <= self.max_rejected <= 1:
            raise TunerError(f"--max-rejected is {self.max_rejected}; a share from 0 to 100% is accepted")
        for name, values in (("--align", self.align), ("--cap", self.cap)):
            for axis, value in values.items():
                if value < 1:
                    raise TunerError(f"{name} {axis}={value}; a whole number from 1 up is accepted")
