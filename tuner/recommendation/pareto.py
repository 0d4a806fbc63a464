"""The Pareto front over (objective, device memory, build time) from all measured sets, after the search.

An Optuna study with several objectives can neither report nor prune, so the front is not its business.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.axes import Size
from tuner.measurements.source import MeasuredProfile
from tuner.replay.score import Judge, LatencyTable
from tuner.search.known import resources_of

SETS_LIMIT = 60_000
"""Sets that are looked at; of more profiles only those best alone take part in the larger sets."""
_CHUNK = 2_000_000


@dataclass(frozen=True, slots=True)
class FrontSet:
    """A set that no other one beats in everything; None stands for what is not known of its profiles."""

    opts: tuple[Size, ...]
    value: float
    memory_bytes: int | None
    build_s: float | None


def pareto_front(
    table: LatencyTable, judge: Judge, measured: Sequence[MeasuredProfile], max_profiles: int
) -> tuple[FrontSet, ...]:
    """Sets of up to `max_profiles` that are best in some trade, the fastest first."""
    latency = np.where(np.isfinite(table.latency_ms), table.latency_ms, np.inf)
    sets = [rows for count in range(1, max_profiles + 1) for rows in _sets(latency, judge, count)]
    values = _values(latency, judge, sets)
    resources = resources_of(list(measured))
    memory = np.array([resources.memory_bytes[list(rows)].max() for rows in sets])
    build = np.array([resources.build_s[list(rows)].sum() for rows in sets])
    points = np.stack([values, memory, build], axis=1)
    front: list[FrontSet] = []
    kept = np.zeros((0, 3))
    for place in np.lexsort((build, memory, values)):
        point = points[place]
        if not math.isfinite(point[0]) or (len(kept) and (kept <= point).all(axis=1).any()):
            continue
        kept = np.concatenate([kept, point[None]])
        chosen = [measured[row] for row in sets[place]]
        front.append(
            FrontSet(
                tuple(m.profile.opt for m in sorted(chosen, key=lambda m: m.profile.opt.work)),
                float(point[0]),
                int(point[1]) if all(m.device_memory_bytes is not None for m in chosen) else None,
                float(point[2]) if all(m.build_s is not None for m in chosen) else None,
            )
        )
    return tuple(front)


def _sets(latency: np.ndarray, judge: Judge, count: int) -> list[tuple[int, ...]]:
    order = np.argsort(_values(latency, judge, [(row,) for row in range(len(latency))]), kind="stable")
    rows = [int(row) for row in order]
    while len(rows) > count and math.comb(len(rows), count) > SETS_LIMIT // 3:
        rows = rows[:-1]
    return list(itertools.combinations(sorted(rows), count))


def _values(latency: np.ndarray, judge: Judge, sets: Sequence[tuple[int, ...]]) -> np.ndarray:
    values = np.full(len(sets), np.inf)
    step = max(1, _CHUNK // latency.shape[1])
    for start in range(0, len(sets), step):
        part = sets[start : start + step]
        least = np.stack([latency[list(rows)].min(axis=0) for rows in part])
        serving = np.isfinite(least).all(axis=1)
        if not judge.changes.are_free:
            index = np.stack([latency[list(rows)].argmin(axis=0) for rows in part])
            least = least + judge.changes.charges(judge.shares, index)
        if serving.any():
            values[start : start + step][serving] = judge.values(least[serving])
    return values
