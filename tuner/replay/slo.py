"""Limits that a set has to keep: `service_p99<=5ms`, `device_memory<=2GiB`, `build_time<=10min`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tuner.errors import UsageError, nearest_name

_TIMES_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_TIMES_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BYTES = {
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip
SLO_UNITS: Mapping[str, Mapping[str, float]] = {
    "gpu_time": _TIMES_MS,
    "service_p50": _TIMES_MS,
    "service_p90": _TIMES_MS,
    "service_p99": _TIMES_MS,
    "response_p50": _TIMES_MS,
    "response_p90": _TIMES_MS,
    "response_p99": _TIMES_MS,
    "response_p999": _TIMES_MS,
    "device_memory": _BYTES,
    "build_time": _TIMES_S,
}
"""What can be limited, and the units that each accepts; the first is ours (ms, bytes, s) or follows it."""
RESOURCES = ("device_memory", "build_time")


@dataclass(frozen=True, slots=True)
class Slo:
    """An upper limit: milliseconds for times of requests, bytes for memory, seconds for the build."""

    metric: str
    limit: float

    def __str__(self) -> str:
        unit = {"device_memory": "B", "build_time": "s"}.get(self.metric, "ms")
        return f"{self.metric}<={self.limit:g}{unit}"


def parse_slo(text: str) -> Slo:
    """Read `service_p99<=5ms`."""
    match = re.fullmatch(r"\s*([a-z0-9_]+)\s*<=\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    if match is None:
        raise UsageError(f"--slo '{text}' cannot be read; write it like --slo 'service_p99<=5ms'")
    metric, number, unit = match.groups()
    if metric not in SLO_UNITS:
        raise UsageError(
            f"--slo '{text}' limits '{metric}'{nearest_name(metric, SLO_UNITS)}; accepted are "
            f"{', '.join(SLO_UNITS)}"
        )
    units = SLO_UNITS[metric]
    if unit not in units:
        raise UsageError(f"--slo '{text}' has the unit '{unit}'; {metric} accepts {', '.join(units)}")
    limit = float(number) * units[unit]
    if limit <= 0:
        raise UsageError(f"--slo '{text}' allows nothing; a limit above zero is accepted")
    return Slo(metric, limit)
