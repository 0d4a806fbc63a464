"""Search problems for tests: the recorded grids under several mixes of traffic, and small made-up tables."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tuner.measurements.flat_parquet import RecordedEngine, read_flat
from tuner.measurements.measurement import Mode
from tuner.measurements.opening import open_recorded
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.store import open_store
from tuner.replay.score import Judge, LatencyTable, latency_table
from tuner.traffic.histogram import SizeHistogram

SAMPLES = Path(__file__).parents[2] / "sample_logs"
ENCODER = SAMPLES / "h200_trt86_encoder6.parquet"
RANKER = SAMPLES / "h200_trt86_ranker.parquet"
BATCHES = (1, 2, 4, 8, 16, 32, 64)
LENGTHS = (16, 32, 64, 128, 256, 384, 512)
_SMALL, _LARGE = (50, 20, 10, 10, 5, 3, 2), (5, 5, 10, 15, 20, 25, 20)
_CHAT = (9, 459, 364, 55, 45, 31, 36)
MIXES = ("small", "bulk", "two-tier", "chat-small", "chat-large", "single", "uniform")


@cache
def recorded(file: Path) -> RecordedSource:
    with open_store("sqlite://") as store:
        return open_recorded(store, str(file), None)


def recorded_with(size_ms: float | None, profile_ms: float | None) -> RecordedSource:
    """The recorded encoder as if each of its engines had told what changes cost, in ms."""
    flat = read_flat(ENCODER)
    costs = {"size_change_ms": size_ms, "profile_change_ms": profile_ms}
    engines = [
        RecordedEngine(dataclasses.replace(one.engine, **costs), one.measurements)  # type: ignore[arg-type]
        for one in flat.engines
    ]
    return RecordedSource(flat.model, engines)


def full_range_curves(source: RecordedSource) -> LatencyTable:
    """The curves that cover every recorded size, in the order of the candidates."""
    measured = [source.measure(p, np.zeros((0, 2), np.int64)) for p in source.candidates()]
    curves = [m.curve(Mode.ENQUEUE) for m in measured]  # type: ignore[union-attr]
    sizes = curves[0].sizes
    return latency_table(curves, SizeHistogram(source.model.axes, sizes, np.ones(len(sizes), dtype=np.int64)))


def encoder_mix(name: str, seed: int = 0) -> SizeHistogram:
    """Traffic over the encoder's grid; the seed shakes the shares, and draws the size of `single`.

    `chat` lengths are those of a real trace, as `shared/measurements` states them.
    """
    generator = np.random.default_rng([seed, MIXES.index(name)])

    def shares(of: Sequence[float]) -> NDArray[np.float64]:
        return generator.dirichlet(np.array(of) / sum(of) * 60 + 1e-3)

    def mix(batches: Sequence[float], lengths: Sequence[float]) -> NDArray[np.float64]:
        return np.outer(shares(batches), shares(lengths))

    tables = {
        "small": lambda: mix(_SMALL, (20, 30, 20, 15, 10, 3, 2)),
        "bulk": lambda: mix((1, 1, 2, 4, 8, 24, 60), (5, 5, 10, 20, 30, 20, 10)),
        "two-tier": lambda: (
            0.7 * mix((80, 10, 5, 2, 1, 1, 1), (30, 40, 20, 5, 3, 1, 1))
            + 0.3 * mix((1, 1, 1, 1, 6, 30, 60), (1, 1, 3, 5, 20, 30, 40))
        ),
        "chat-small": lambda: mix(_SMALL, _CHAT),
        "chat-large": lambda: mix(_LARGE, _CHAT),
        "single": lambda: np.outer(np.eye(7)[generator.integers(7)], np.eye(7)[generator.integers(7)]),
        "uniform": lambda: mix((1,) * 7, (1,) * 7),
    }
    counts = np.round(tables[name]() * 100_000).astype(np.int64)
    sizes = np.array(list(itertools.product(BATCHES, LENGTHS)), dtype=np.int64)
    return SizeHistogram(("batch", "seq"), sizes, counts.ravel())


def judge_of(histogram: SizeHistogram, objective: str = "gpu_time") -> Judge:
    return Judge(histogram, histogram.counts.astype(np.float64), objective)


def table_of(latency_ms: object) -> LatencyTable:
    rows = np.array(latency_ms, dtype=np.float64)
    return LatencyTable(rows, np.zeros(rows.shape, dtype=bool))


def brute_force(table: LatencyTable, judge: Judge, count: int) -> float:
    """The least objective over all sets of so many rows, the slow and plain way, with what changes cost."""
    latency = np.where(np.isfinite(table.latency_ms), table.latency_ms, np.inf)
    values = []
    for rows in itertools.combinations(range(len(latency)), count):
        index, least = latency[list(rows)].argmin(axis=0), latency[list(rows)].min(axis=0)
        if np.isfinite(least).all():
            values.append(judge.value(least + judge.changes.charges(judge.shares, index)))
    return min(values, default=np.inf)
