"""The best set of profiles for sizes that a batcher executes, under the routing that the server has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.measurements.curve import Curve
from tuner.model import Model
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import opt_distances
from tuner.replay.changes import FREE, ChangeCosts
from tuner.replay.queueing import Service
from tuner.replay.service_time import ExecutedSizes, latency_cells

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

SET_LIMIT = 50_000
"""Sets of one size that are looked at; where there are more, only profiles near the best take part."""
_CHUNK_ENTRIES = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ProfileCells:
    """Latency in ms of each profile at each size that may be executed.

    Of shape (profiles, cells, max_batch + 1), NaN where a profile has no time. `distances`, of that shape,
    is what `nearest_opt` compares; None stands for the routing `best`. Rows are in the order of the opts,
    as the profiles of an engine would be. `changes` are what replays of these profiles charge.
    """

    sizes: ExecutedSizes
    profiles: ProfileSet
    latency_ms: NDArray[np.float64]
    distances: NDArray[np.float64] | None
    changes: ChangeCosts = FREE

    @property
    def routing(self) -> str:
        return "best" if self.distances is None else "nearest_opt"

    def of(self, rows: Sequence[int]) -> ProfileCells:
        """The table of some of the profiles."""
        chosen = list(rows)
        profiles = ProfileSet(tuple(self.profiles.profiles[row] for row in chosen))
        distances = None if self.distances is None else self.distances[chosen]
        return ProfileCells(self.sizes, profiles, self.latency_ms[chosen], distances, self.changes)

    def largest_batch(self) -> int:
        """The largest batch up to which some profile serves every cell; 0 where there is none."""
        served = np.asarray(np.isfinite(self.latency_ms[:, :, 1:]).any(axis=0).all(axis=0))
        return int(served.size if served.all() else served.argmin())

    def service(self, rows: Sequence[int]) -> Service:
        """Service times of a set's profiles in one model, under the routing that the server has."""
        latency = self.latency_ms[list(rows)]
        if self.distances is None:
            index = np.where(np.isnan(latency), np.inf, latency).argmin(axis=0)
        else:
            index = self._nearest(np.array([list(rows)]))[0]
        return Service(
            self.sizes,
            np.take_along_axis(latency, index[None], axis=0),
            profile_index=index[None] if len(latency) > 1 else None,
            changes=self.changes,
        )

    def _nearest(self, sets: Int64Array) -> NDArray[np.intp]:
        """Place in its set of the profile that serves each size, shape (sets, cells, max_batch + 1)."""
        assert self.distances is not None
        ranked = np.where(np.isnan(self.latency_ms[sets]), np.inf, self.distances[sets])
        return np.asarray(ranked.argmin(axis=1))

    def at(self, used: NDArray[np.bool_]) -> ProfileCells:
        """The same profiles at some sizes only, as one cell with as many batches; to compare sets by."""
        distances = None if self.distances is None else self.distances[:, used][:, None]
        latency_ms = self.latency_ms[:, used][:, None]
        return ProfileCells(self.sizes, self.profiles, latency_ms, distances, self.changes)

    def values(self, sets: Int64Array, weights: FloatArray) -> FloatArray:
        """Weighted latency of each set (sets, profiles in it); infinite where a size is not served."""
        latency = np.where(np.isnan(self.latency_ms), np.inf, self.latency_ms)[sets]
        if self.distances is None:
            routed = latency.min(axis=1)
        else:
            routed = np.take_along_axis(latency, self._nearest(sets)[:, None], axis=1)[:, 0]
        return np.asarray(routed.reshape(len(sets), -1) @ weights.reshape(-1))


def profile_cells(
    sizes: ExecutedSizes,
    curves: Sequence[Curve],
    model: Model,
    *,
    nearest_opt: bool,
    changes: ChangeCosts = FREE,
) -> ProfileCells:
    """The table of measured profiles; curves are put in the order of their opts."""
    ordered = sorted(curves, key=lambda curve: (curve.profile.opt.work, curve.profile.opt.values))
    profiles = ProfileSet(tuple(curve.profile for curve in ordered))
    distances = None
    if nearest_opt:
        opts = np.array([profile.opt.values for profile in profiles], dtype=np.int64)
        rows = opt_distances(opts, sizes.rows(), profiles.axes, model)
        distances = np.stack([sizes.table(row) for row in rows])
    return ProfileCells(sizes, profiles, latency_cells(sizes, ordered), distances, changes)


@dataclass(frozen=True, slots=True)
class ExecutedSet:
    """Rows of the profiles that serve executed sizes best, and their GPU time per execution in ms."""

    rows: tuple[int, ...]
    value_ms: float


def best_executed_sets(
    cells: ProfileCells, executed: NDArray[np.int64], largest: int, least_batch_served: int
) -> list[ExecutedSet]:
    """For each number of profiles from 1 to `largest` the set of least GPU time for these executions.

    `executed` has shape (cells, max_batch + 1). Sets that leave any batch up to `least_batch_served`
    unserved do not count. Ties go to the lower rows.
    """
    used = executed > 0
    every_batch = np.s_[:, :, 1 : least_batch_served + 1]
    if not np.isfinite(cells.latency_ms[every_batch]).all():
        # Sizes that did not occur now may do so later; where all profiles serve them they decide nothing.
        used[every_batch[1:]] = True
    inside, weights = cells.at(used), executed[used] / executed.sum()
    found = []
    rows = _worth_trying(inside, weights, largest)
    for count in range(1, min(largest, len(rows)) + 1):
        best: ExecutedSet | None = None
        for sets in _chunks(rows, count, len(weights)):
            values = inside.values(sets, np.maximum(weights, 1e-15))
            at = int(values.argmin())
            if np.isfinite(values[at]) and (best is None or values[at] < best.value_ms):
                best = ExecutedSet(tuple(int(row) for row in sets[at]), float(values[at]))
        if best is not None:
            found.append(best)
    return found


def _worth_trying(cells: ProfileCells, weights: FloatArray, largest: int) -> list[int]:
    count = len(cells.profiles)
    keep = count
    while keep > largest and math.comb(keep, min(largest, keep)) > SET_LIMIT:
        keep -= 1
    if keep == count:
        return list(range(count))
    # What a profile is worth beside others: the weighted share of sizes at which it comes near the best.
    latency = np.where(np.isnan(cells.latency_ms), np.inf, cells.latency_ms)[:, 0]
    near = (latency.min(axis=0) / latency) ** 8 @ np.maximum(weights, 1e-15)
    return sorted(int(row) for row in np.argsort(-near, kind="stable")[:keep])


def _chunks(rows: Sequence[int], count: int, entries: int) -> Iterator[Int64Array]:
    sets = itertools.combinations(rows, count)
    length = max(1, _CHUNK_ENTRIES // (count * max(1, entries)))
    while chunk := list(itertools.islice(sets, length)):
        yield np.array(chunk, dtype=np.int64)
