"""A sweep: one engine timed at many sizes, and what its performance curve says."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.axes import Size
from tuner.engines.memory_need import tensor_bytes
from tuner.errors import TunerError
from tuner.measurements.measurement import Measurement, Mode
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile

LEAST_GAIN_OF_DOUBLING = 0.10
"""Throughput that twice the work has to bring; below it the sweet spot is behind."""
MOST_SIZES = 512

_RANGE = re.compile(r"(\d+)(?:\.\.(\d+)(?::(\d+))?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One size of the performance curve: latencies in ms, throughput in work units per GPU second.

    `io_bytes` are its inputs and outputs, `memory_bytes` those and the memory of an execution context; None
    where the engine does not tell that. `utilisation` is NVML's, 0 to 1.
    """

    size: Size
    p50_ms: float
    p90_ms: float
    p99_ms: float
    graph_p50_ms: float | None
    h2d_ms: float | None
    d2h_ms: float | None
    enqueue_ms: float | None
    io_bytes: int
    memory_bytes: int | None
    utilisation: float | None
    caveats: tuple[str, ...]

    @property
    def inferences_per_s(self) -> float:
        return 1000 / self.p50_ms

    @property
    def work_per_s(self) -> float:
        return self.size.work * 1000 / self.p50_ms


def sweep_values(text: str) -> list[int]:
    """`1..128` doubles from 1 to 128, `1..8:1` takes every value, `4` is one; the last is always in."""
    found = _RANGE.fullmatch(text.strip())
    low, high, step = (int(part) if part else None for part in found.groups()) if found else (None,) * 3
    if low is None or low < 1 or (high is not None and high < low) or step == 0:
        raise TunerError(f"sweep '{text}' cannot be read; write it like 1..128 (doubling), 1..8:1 or 4")
    if high is None:
        return [low]
    values = list(range(low, high + 1, step)) if step else _doublings(low, high)
    return values if values[-1] == high else [*values, high]


def _doublings(low: int, high: int) -> list[int]:
    return list(itertools.takewhile(lambda v: v <= high, (low << i for i in range(32))))


def sweep_sizes(model: Model, sweeps: Mapping[str, str]) -> list[Size]:
    """Every combination of the axes' values; TunerError for an axis that is unknown or was left out."""
    if set(sweeps) != set(model.axes):
        raise TunerError(
            f"--sweep names the axes {sorted(sweeps)}, the model has {list(model.axes)}; give each of them, "
            "like --sweep batch=1..64 --sweep seq=128"
        )
    values = [sweep_values(sweeps[axis]) for axis in model.axes]
    sizes = [Size(model.axes, combination) for combination in itertools.product(*values)]
    if len(sizes) > MOST_SIZES:
        raise TunerError(f"the sweep has {len(sizes)} sizes, {MOST_SIZES} are accepted; use fewer values")
    return sizes


def sweep_profile(sizes: Sequence[Size], opt: Size | None) -> OptimizationProfile:
    """A profile over the sweep's range; its opt is the largest size where none is given."""
    axes = sizes[0].axes
    low = Size(axes, tuple(min(size[axis] for size in sizes) for axis in axes))
    high = Size(axes, tuple(max(size[axis] for size in sizes) for axis in axes))
    return OptimizationProfile(low, opt or high, high)


def sweep_rows(
    model: Model, timed: tuple[int | None, Sequence[Measurement]], sizes: Sequence[Size]
) -> list[SweepRow]:
    """The curve in the order of the sizes; a size without a measurement is left out.

    `timed` are the bytes of an execution context of the engine, and its measurements.
    """
    context_bytes, measurements = timed
    by_place = {(m.size, m.mode): m for m in measurements}
    rows = []
    for size in sizes:
        enqueued, replayed = by_place.get((size, Mode.ENQUEUE)), by_place.get((size, Mode.CUDA_GRAPH))
        if enqueued is None:
            continue
        io_bytes = sum(tensor_bytes(model, size).values())
        rows.append(
            SweepRow(
                size=size,
                p50_ms=enqueued.summary.p50_ms,
                p90_ms=enqueued.summary.p90_ms,
                p99_ms=enqueued.summary.p99_ms,
                graph_p50_ms=replayed.summary.p50_ms if replayed else None,
                h2d_ms=enqueued.h2d_ms,
                d2h_ms=enqueued.d2h_ms,
                enqueue_ms=enqueued.enqueue_ms,
                io_bytes=io_bytes,
                memory_bytes=None if context_bytes is None else context_bytes + io_bytes,
                utilisation=enqueued.utilisation,
                caveats=enqueued.caveats,
            )
        )
    return rows


def sweet_spot(rows: Sequence[SweepRow]) -> SweepRow | None:
    """The first size from which twice the work brings less than `LEAST_GAIN_OF_DOUBLING` more throughput.

    Compared are sizes that differ on one axis alone; None where throughput still rises at the end.
    """
    by_size = {row.size: row for row in rows}
    for row in sorted(rows, key=lambda r: (r.size.work, r.size.values)):
        doubled = [by_size.get(row.size.replaced(axis, 2 * row.size[axis])) for axis in row.size.axes]
        gains = [twice.work_per_s / row.work_per_s - 1 for twice in doubled if twice is not None]
        if gains and max(gains) < LEAST_GAIN_OF_DOUBLING:
            return row
    return None
