"""Ranges as variables: the best way to cut the traffic among profiles, by dynamic programming.

A cost of serving a size by a profile is a number of its own, so the best cut of the traffic up to some
cut needs only the best cuts of less. The two families, nested boxes and slabs, differ in what counts as
less. A percentile is brought to the same form by bisection: under a limit on latency the cost of a size is
its weight if it takes longer, and the least limit is wanted for which few enough do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.replay.score import Judge
from tuner.traffic.histogram import SizeHistogram

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Ranged = list[tuple[int, Size, Size]]

CORNER_LIMIT = 144
"""Upper corners of boxes, shared out evenly among the axes."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Values at which ranges of each axis may end, rising; the last reaches everything to be served."""

    axes: tuple[str, ...]
    smallest: Size
    values: tuple[tuple[int, ...], ...]

    def corners(self) -> list[Size]:
        """All upper corners; the last one is the whole range."""
        return [Size(self.axes, point) for point in itertools.product(*self.values)]


def cuts_of(histogram: SizeHistogram, largest: Size) -> Cuts:
    """Values of each axis that occur, those nearest to even shares of the traffic where there are many."""
    limit = max(2, int(CORNER_LIMIT ** (1 / len(histogram.axes))))
    percents = np.linspace(0, 100, limit + 1)[1:]
    values = []
    for axis in histogram.axes:
        occurring = np.unique(histogram.values(axis)).tolist()
        if len(occurring) > limit:
            by_work = np.unique([round(v) for v in np.geomspace(max(1, occurring[0]), occurring[-1], limit)])
            snapped = [occurring[int(np.searchsorted(occurring, value))] for value in by_work[:-1]]
            occurring = sorted({*snapped[1::2], *histogram.percentiles(axis, percents[::2].tolist())})
        values.append((*sorted({v for v in occurring if v < largest[axis]}), largest[axis]))
    return Cuts(histogram.axes, histogram.smallest, tuple(values))


def best_boxes(
    judge: Judge,
    latency_ms: FloatArray,
    opts: NDArray[np.int64],
    cuts: Cuts,
    max_profiles: int,
) -> list[Ranged]:
    """Nested boxes, the smallest first; one result for each number of profiles from 2 to the largest.

    `latency_ms`, shape (profiles, sizes), includes the least that every set is charged for changes.
    """
    corners = cuts.corners()
    upper = np.array([corner.values for corner in corners], dtype=np.int64)
    inside = np.asarray((judge.histogram.sizes[None] <= upper[:, None]).all(axis=-1))
    fits = np.asarray((opts[:, None, :] <= upper[None]).all(axis=-1))
    fits[:, -1] = True  # the whole range is widened where an opt lies beyond it
    nested = np.asarray((upper[:, None] <= upper[None]).all(axis=-1)) & ~np.eye(len(upper), dtype=bool)

    def ranged(chain: list[tuple[int, int]]) -> Ranged:
        return [(row, cuts.smallest, corners[at]) for row, at in chain]

    family = _Family(inside, fits, nested)
    return [ranged(chain) for chain in _best_chains(judge, latency_ms, family, max_profiles)]


def best_slabs(
    judge: Judge,
    latency_ms: FloatArray,
    opts: NDArray[np.int64],
    cuts: Cuts,
    max_profiles: int,
) -> list[Ranged]:
    """Each profile with a range of one axis to itself, whole in the others; for each axis and number."""
    found = []
    whole = Size(cuts.axes, tuple(values[-1] for values in cuts.values))
    for place, axis in enumerate(cuts.axes):
        ends = np.array(cuts.values[place], dtype=np.int64)
        inside = judge.histogram.sizes[None, :, place] <= ends[:, None]
        fits = opts[:, None, place] <= ends[None]
        fits[:, -1] = True
        nested = ends[:, None] < ends[None]
        family = _Family(inside, fits, nested, starts=opts[:, None, place] > ends[None])
        for chain in _best_chains(judge, latency_ms, family, max_profiles):
            ranged: Ranged = []
            low = cuts.smallest[axis]
            for row, at in chain:
                ranged.append((row, cuts.smallest.replaced(axis, low), whole.replaced(axis, int(ends[at]))))
                low = int(ends[at]) + 1
            found.append(ranged)
    return found


@dataclass(frozen=True, slots=True)
class _Family:
    """Which sizes lie inside each cut, which profiles may end at it, and which cuts lie inside which.

    Shapes (cuts, sizes), (profiles, cuts), (cuts, cuts). `starts`, shape (profiles, cuts), says which
    profiles may begin after a cut; all of them where it is None.
    """

    inside: BoolArray
    fits: BoolArray
    nested: BoolArray
    starts: BoolArray | None = None


def _best_chains(
    judge: Judge, latency_ms: FloatArray, family: _Family, max_profiles: int
) -> Iterator[list[tuple[int, int]]]:
    """The best chain of (profile, cut) for each number of profiles from 2 to the largest.

    A percentile is judged without what a change of profile costs beyond one of size.
    """
    weights = judge.load.weights
    share = family.inside @ judge.shares
    if judge.objective == "gpu_time":
        cost = np.where(np.isfinite(latency_ms), latency_ms, 1e9) * judge.load.mean_weights
        dearer_ms = judge.changes.profile_ms - judge.changes.size_ms
        switch = dearer_ms * (family.inside @ judge.load.mean_weights)
        for count in range(2, max_profiles + 1):
            yield from _chains(_Costs(cost, family, share, switch), count)
        return
    percent = float(judge.objective.removeprefix("service_p"))
    allowed = (1 - percent / 100) * weights.sum() * (1 + 1e-12)
    limits = np.unique(latency_ms[np.isfinite(latency_ms)])
    for count in range(2, max_profiles + 1):
        low, high = 0, len(limits) - 1
        chain: list[tuple[int, int]] | None = None
        while low <= high:
            middle = (low + high) // 2
            late = np.asarray((latency_ms > limits[middle]) * weights)
            found = _best(_Costs(late, family, share, np.zeros(len(share))), count)
            if found is not None and found[0] <= allowed:
                chain, high = found[1], middle - 1
            else:
                low = middle + 1
        if chain is not None:
            yield chain


@dataclass(frozen=True, slots=True)
class _Costs:
    """Cost of each profile at each size, shape (profiles, sizes), over a family of cuts.

    Of each cut, shape (cuts,): `share` of the inferences inside, and `switch`, what those inside would cost
    more if each came after another profile.
    """

    cost: FloatArray
    family: _Family
    share: FloatArray
    switch: FloatArray


def _chains(costs: _Costs, count: int) -> Iterator[list[tuple[int, int]]]:
    found = _best(costs, count)
    if found is not None:
        yield found[1]


def _best(costs: _Costs, count: int) -> tuple[float, list[tuple[int, int]]] | None:
    """The least cost of exactly `count` profiles up to the last cut, and who serves up to which cut."""
    family = costs.family
    up_to = np.where(family.fits, costs.cost @ family.inside.T, np.inf)  # (profiles, cuts)
    plain = costs.cost @ family.inside.T
    # Serving what lies in cut j but not in cut i: the best profile for it, and what switching adds.
    between = np.full((len(family.nested),) * 2, np.inf)
    server = np.zeros(between.shape, dtype=np.int64)
    for i in range(len(between)):
        able = up_to - plain[:, i][:, None]
        if family.starts is not None:
            able = np.where(family.starts[:, i][:, None], able, np.inf)
        server[i] = able.argmin(axis=0)
        switch = (costs.switch - costs.switch[i]) * (1 - (costs.share - costs.share[i]))
        between[i] = np.where(family.nested[i], able.min(axis=0) + switch, np.inf)
    total = up_to.min(axis=0) + costs.switch * (1 - costs.share)
    first = up_to.argmin(axis=0)
    steps: list[NDArray[np.int64]] = []
    for _ in range(count - 1):
        onward = total[:, None] + between
        steps.append(onward.argmin(axis=0))
        total = onward.min(axis=0)
    if not np.isfinite(total[-1]):
        return None
    chain, at = [], len(total) - 1
    for step in reversed(steps):
        before = int(step[at])
        chain.append((int(server[before, at]), at))
        at = before
    chain.append((int(first[at]), at))
    return float(total[-1]), chain[::-1]
