"""Composition: the best set of 1 to K measured profiles, found exactly by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.replay.score import Judge, LatencyTable

ENUMERATION_LIMIT = 2_000_000
"""Largest number of sets that is enumerated for one number of profiles."""
_CHUNK_ENTRIES = 4_000_000


@dataclass(frozen=True, slots=True)
class ComposedSet:
    """Rows of the latency table that together score best, and their objective in ms."""

    rows: tuple[int, ...]
    value: float


def best_sets(table: LatencyTable, judge: Judge, largest: int) -> list[ComposedSet]:
    """For each number of profiles from 1 to `largest` the best set under routing `best`.

    Only sets that serve every size count; a number of profiles for which there is none, or for which the
    table has too few rows, is left out. Ties go to the set with the lower rows.
    """
    found = (best_set(table, judge, count) for count in range(1, largest + 1))
    return [composed for composed in found if composed is not None]


def best_set(table: LatencyTable, judge: Judge, count: int) -> ComposedSet | None:
    """The best set of exactly `count` profiles, None where no set serves every size."""
    rows = len(table.latency_ms)
    if math.comb(rows, count) > ENUMERATION_LIMIT:
        raise TunerError(
            f"{rows} measured profiles give {math.comb(rows, count)} sets of {count}; "
            f"{ENUMERATION_LIMIT} are enumerated at most, ask for fewer profiles or builds"
        )
    latency = np.where(np.isfinite(table.latency_ms), table.latency_ms, np.inf)
    best: ComposedSet | None = None
    for sets in _chunks(rows, count, max(1, _CHUNK_ENTRIES // (count * max(1, latency.shape[1])))):
        served = latency[sets].min(axis=1)
        complete = np.isfinite(served).all(axis=1)
        for position in np.flatnonzero(complete) if judge.objective != "gpu_time" else []:
            value = judge.value(served[position])
            if best is None or value < best.value:
                best = ComposedSet(tuple(int(r) for r in sets[position]), value)
        if judge.objective == "gpu_time" and complete.any():
            values = np.where(complete, served @ _weights(judge), np.inf)
            least = int(values.argmin())
            if best is None or values[least] < best.value:
                best = ComposedSet(tuple(int(r) for r in sets[least]), float(values[least]))
    return best


def _weights(judge: Judge) -> NDArray[np.float64]:
    """Weights with which the mean objective is a plain dot product with the latencies."""
    load = judge.load
    if load.weights is load.requests:
        return np.asarray(load.inferences / load.requests.sum())
    return np.asarray(load.weights / load.weights.sum())


def _chunks(rows: int, count: int, length: int) -> Iterator[NDArray[np.int64]]:
    sets = itertools.combinations(range(rows), count)
    while chunk := list(itertools.islice(sets, length)):
        yield np.array(chunk, dtype=np.int64)
