"""The outlook: what building a further profile may still gain, drawn from the latency model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.replay.score import Judge
from tuner.search.latency_model import LatencyModel

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

PATHS = 64
PATHS_OF_PERCENTILES = 32
"""Percentiles need a sort for each set, so they are drawn less often, and for the most likely opts alone."""
SHORTLIST = 24
SIZES = 64
"""Sizes that the model knows; traffic with more is brought down to them."""
BASES = 12
"""Sets of each number of profiles that a further profile is tried beside."""
OVERRUN_COST = 10.0
"""By how much of its value a set is worse when it breaks a limit by all of it."""
WORTH_BUILDING = 0.01
"""An improvement that counts, as a share of the best set's value."""


def condensed(judge: Judge, limit: int = SIZES) -> Judge:
    """The judge on at most about `limit` sizes: the heaviest half as they are, the rest moved to neighbours.

    A size moves to the one nearest to the weighted middle of its cell, in a grid over the doublings of each
    axis.
    """
    histogram = judge.histogram
    if len(histogram) <= limit:
        return judge
    weights = judge.load.mean_weights * histogram.work**0.5  # heavy is what may cost, not only what is many
    alone = np.zeros(len(histogram), dtype=bool)
    alone[np.argsort(-weights, kind="stable")[: limit // 2]] = True
    moved = histogram.sizes.copy()
    rest = np.flatnonzero(~alone)
    cells = _cells(histogram.sizes[rest], limit // 2)
    for cell in np.unique(cells):
        members = rest[cells == cell]
        doublings = np.log2(np.maximum(histogram.sizes[members], 0.5))
        apart = doublings - np.average(doublings, axis=0, weights=weights[members])
        moved[members] = histogram.sizes[members[(apart**2).sum(axis=1).argmin()]]
    merged = histogram.with_sizes(moved)
    requests = np.zeros(len(merged))
    places = {tuple(row): place for place, row in enumerate(merged.sizes.tolist())}
    np.add.at(requests, [places[tuple(row)] for row in moved.tolist()], judge.requests)
    return Judge(merged, requests, judge.objective, judge.weight, judge.slos)


def _cells(sizes: Int64Array, limit: int) -> Int64Array:
    """A number for each size's cell; cells are as small as `limit` of them allows."""
    doublings = np.log2(np.maximum(sizes, 0.5))
    width = 0.25
    while True:
        _, cells = np.unique(np.floor(doublings / width), axis=0, return_inverse=True)
        if cells.max() < limit:
            return np.asarray(cells.reshape(-1), dtype=np.int64)
        width *= 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What further builds may gain over the best set of at most so many profiles.

    `expected` is the expected improvement of each opt in ms, shape (opts,), 0 for those measured. `chance`
    is that of an improvement by more than 1 % by any further build, `gap` the expected improvement by the
    best of them, both as shares. `low_ms` are the least latencies of any draw and `typical_ms` those that the
    model expects, both of shape (opts, sizes).
    """

    expected: FloatArray
    chance: float
    gap: float
    low_ms: FloatArray
    typical_ms: FloatArray
    best: float
    bases: FloatArray


def look_out(
    opts: Int64Array,
    judge: Judge,
    measured: tuple[Sequence[int], FloatArray],
    max_profiles: int,
    generator: np.random.Generator,
) -> Outlook:
    """The outlook over opts, shape (opts, axes), for a condensed judge.

    `measured` are the rows of the opts that were measured, and their latencies in ms at the judge's sizes,
    shape (rows, sizes); nan where one does not serve. With nothing measured, `expected` is minus the
    expected value of each opt alone: the least one is the best to begin with.
    """
    rows, latency = np.array(measured[0], dtype=np.int64), measured[1]
    model = LatencyModel(opts, judge.histogram.sizes)
    needs_sort = judge.objective != "gpu_time" or bool(judge.service_slos)
    paths = model.paths(rows, latency, generator, PATHS_OF_PERCENTILES if needs_sort else PATHS)
    low, typical = paths.min(axis=0), np.exp(np.log(paths).mean(axis=0))
    if len(rows) == 0:
        return Outlook(-worth(judge, paths).mean(axis=0), 1.0, 1.0, low, typical, np.inf, _nothing(judge))
    served = np.where(np.isfinite(latency), latency, np.inf)
    best, bases = _bases(judge, served, max_profiles)
    free = np.setdiff1d(np.arange(len(opts)), rows)
    if needs_sort and len(free) > SHORTLIST:
        free = free[np.argsort(_beside(judge, typical[free], bases), kind="stable")[:SHORTLIST]]
    expected = np.zeros(len(opts))
    if len(free) == 0:
        return Outlook(expected, 0.0, 0.0, low, typical, best, bases)
    gains = np.maximum(0.0, best - _beside(judge, paths[:, free], bases))
    gains = np.where(np.isfinite(gains), gains, 0.0) if np.isfinite(best) else gains
    most = gains.max(axis=1)
    expected[free] = gains.mean(axis=0)
    return Outlook(
        expected,
        float((most > WORTH_BUILDING * best).mean()),
        float(most.mean() / best),
        low,
        typical,
        best,
        bases,
    )


def worth(judge: Judge, latency_ms: FloatArray) -> FloatArray:
    """What sets are compared by in the outlook: the objective, made worse where a limit is broken."""
    return judge.values(latency_ms) * (1 + OVERRUN_COST * judge.overruns(latency_ms))


def _nothing(judge: Judge) -> FloatArray:
    return np.full((1, len(judge.histogram)), np.inf)


def _beside(judge: Judge, latency_ms: FloatArray, bases: FloatArray) -> FloatArray:
    """The best worth of each latency, shape (..., sizes), beside any of the bases; shape (...)."""
    best = np.full(latency_ms.shape[:-1], np.inf)
    for base in bases:
        best = np.minimum(best, worth(judge, np.minimum(latency_ms, base)))
    return best


def _bases(judge: Judge, latency_ms: FloatArray, max_profiles: int) -> tuple[float, FloatArray]:
    """The worth of the best set, and latencies of good sets that leave room for one more profile.

    Sets of up to two profiles are all looked at; larger ones grow from the best smaller ones.
    """
    kept = [_nothing(judge)]
    best = np.inf
    sets: list[tuple[int, ...]] = [(row,) for row in range(len(latency_ms))]
    for count in range(1, max_profiles + 1):
        least = np.stack([latency_ms[list(rows)].min(axis=0) for rows in sets])
        serving = np.isfinite(least).all(axis=1)
        value = np.full(len(sets), np.inf)
        if serving.any():
            value[serving] = worth(judge, least[serving])
        best = min(best, float(value.min()))
        order = np.argsort(value, kind="stable")[:BASES]
        if count < max_profiles:
            kept.append(least[order])
        sets = _larger(sets if count == 1 else [sets[i] for i in order], len(latency_ms))
        if not sets:
            break
    return best, np.concatenate(kept)


def _larger(sets: Sequence[tuple[int, ...]], rows: int) -> list[tuple[int, ...]]:
    """Every set with one row more than one of the given."""
    grown = (tuple(sorted({*rows_of, row})) for rows_of, row in itertools.product(sets, range(rows)))
    larger = len(sets[0]) + 1 if sets else 0
    return list(dict.fromkeys(rows_of for rows_of in grown if len(rows_of) == larger))
