"""The space of a search: which opts may be tried, over which range, and how it grows.

Opts come from the traffic: a lattice over quantiles of each axis, powers of two and tile multiples. It is
refined around the opts of good sets as the search goes on, and widened where such an opt lies on its edge.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.errors import NothingFeasible
from tuner.model import Model
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import OptimizationProfile
from tuner.profiles.relations import Relation, kept, relations_of
from tuner.traffic.histogram import SizeHistogram

LATTICE_PERCENTILES = (0, 10, 25, 50, 75, 90, 99, 100)
LATTICE_LIMIT = 144
"""Opts of the first lattice, shared out evenly among the axes."""
TICK_LIMIT = 24
OPT_LIMIT = 200
"""Opts of a space however much it grows."""
TILE = 64
"""Rows of a matrix that GPU kernels take at once."""
WIDEST = 4
"""How many times the range of the traffic an opt may lie above or below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Profiles that a search may try: one for each opt, each over the whole range to serve.

    Opts are in a fixed order. A range is widened by its opt where that lies outside of the traffic.
    `bounds` are the least and largest opt that may ever be tried; the space grows within them where it
    `is_open`, which means that any profile can be built.
    """

    smallest: Size
    largest: Size
    opts: tuple[Size, ...]
    bounds: tuple[Size, Size]
    is_open: bool = False
    relations: tuple[Relation, ...] = ()
    model: Model | None = None

    def profile(self, opt: Size) -> OptimizationProfile:
        axes = self.smallest.axes
        low = tuple(min(a, b) for a, b in zip(self.smallest.values, opt.values, strict=True))
        high = tuple(max(a, b) for a, b in zip(self.largest.values, opt.values, strict=True))
        return OptimizationProfile(Size(axes, low), opt, Size(axes, high))

    def nearest(self, wanted: Sequence[float], among: Sequence[Size]) -> Size:
        """The opt nearest by log distance; ties keep the space's order."""
        rows = logarithms([opt.values for opt in among])
        distance = np.abs(rows - logarithms(wanted)).sum(axis=1)
        return among[int(distance.argmin())]

    def rows(self, opts: Iterable[Size]) -> list[int]:
        """The place of each opt in the space."""
        places = {opt: place for place, opt in enumerate(self.opts)}
        return [places[opt] for opt in opts]

    def as_array(self) -> NDArray[np.int64]:
        """The opts, shape (opts, axes)."""
        return np.array([opt.values for opt in self.opts], dtype=np.int64)

    def edges(self, opt: Size) -> tuple[str, ...]:
        """The axes on which no opt of the space lies further out than this one."""
        values = self.as_array()
        on_edge = (values.min(axis=0), values.max(axis=0))
        return tuple(
            axis
            for axis, own, low, high in zip(opt.axes, opt.values, *on_edge, strict=True)
            if low < high and own in (low, high)
        )

    def grown(self, good: Iterable[Size]) -> Space:
        """The space with more opts around the good ones: halfway to their neighbours, and past an edge."""
        if not self.is_open:
            return self
        known = set(self.opts)
        added = []
        for opt in good:
            for axis in opt.axes:
                for value in self._between(opt, axis):
                    new = self.feasible(opt.replaced(axis, value))
                    if new is not None and new not in known and len(known) < OPT_LIMIT:
                        known.add(new)
                        added.append(new)
        return dataclasses.replace(self, opts=(*self.opts, *added))

    def _between(self, opt: Size, axis: str) -> list[int]:
        """Values of an axis halfway (by ratio) from the opt's to the next ones, twice it past the edge."""
        values = sorted({other[axis] for other in self.opts})
        at = values.index(opt[axis])
        below = values[at - 1] if at > 0 else max(opt[axis] // 4, 1)
        above = values[at + 1] if at + 1 < len(values) else min(opt[axis] * 4, LARGEST_DIMENSION)
        return [round((max(opt[axis], 1) * max(other, 1)) ** 0.5) for other in (below, above)]

    def feasible(self, opt: Size) -> Size | None:
        """The opt made to keep the relations, None where it lies out of bounds or the model refuses it."""
        opt = kept(opt, self.relations)
        inside = zip(self.bounds[0].values, opt.values, self.bounds[1].values, strict=True)
        if not all(low <= value <= high for low, value, high in inside):
            return None
        if self.model is not None and self.model.why_not(opt) is not None:
            return None
        return opt


def space_of_traffic(
    histogram: SizeHistogram,
    served: tuple[Size, Size],
    *,
    model: Model | None = None,
    cap: dict[str, int] | None = None,
    also: Sequence[Size] = (),
) -> Space:
    """The space where any profile can be built: opts on a lattice over the traffic.

    A point of the lattice has to keep the relations between axes that the traffic shows and to suit the
    model; one of more work than any request brings makes no good opt. `also` are opts to have in it anyway.
    """
    relations = relations_of(histogram)
    bounds = _bounds(served, cap or {})
    empty = Space(
        smallest=served[0],
        largest=served[1],
        opts=(),
        bounds=bounds,
        is_open=True,
        relations=relations,
        model=model,
    )
    limit = min(TICK_LIMIT, int(LATTICE_LIMIT ** (1 / len(histogram.axes))))
    ticks = [_ticks(histogram, axis, max(2, limit)) for axis in histogram.axes]
    points = (Size(histogram.axes, values) for values in itertools.product(*ticks))
    most_work = histogram.work.max()
    lattice = [empty.feasible(point) for point in points]
    opts = {opt for opt in lattice if opt is not None and opt.work <= most_work}
    opts |= {*also, *(histogram.size(row) for row in histogram.heaviest(1))}
    opts |= {_at_least_one(opt) for opt in opts if 0 in opt.values}
    whole = sorted((opt for opt in opts if 0 not in opt.values), key=lambda opt: opt.values)
    return dataclasses.replace(empty, opts=tuple(whole[:OPT_LIMIT]))


def _at_least_one(opt: Size) -> Size:
    """An opt of zero tunes for nothing, and old versions refuse it."""
    return Size(opt.axes, tuple(max(1, value) for value in opt.values))


def _bounds(served: tuple[Size, Size], cap: dict[str, int]) -> tuple[Size, Size]:
    axes = served[0].axes
    low = tuple(max(1, value // WIDEST) for value in served[0].values)
    high = tuple(
        max(1, min(value * WIDEST, cap.get(axis, LARGEST_DIMENSION), LARGEST_DIMENSION))
        for axis, value in zip(axes, served[1].values, strict=True)
    )
    return Size(axes, low), Size(axes, high)


def _ticks(histogram: SizeHistogram, axis: str, limit: int) -> list[int]:
    """Quantiles, powers of two and tile multiples of an axis, thinned to those furthest apart by ratio."""
    quantiles = histogram.percentiles(axis, LATTICE_PERCENTILES)
    low, high = quantiles[0], quantiles[-1]
    powers = [2**i for i in range(32) if low <= 2**i <= high]
    tiles = [m * TILE for m in (1, 2, 3, 4, 6, 8) if low <= m * TILE <= high]
    ticks = sorted({*quantiles, *powers, *tiles})
    chosen = [ticks[0], ticks[-1]]
    while len(set(chosen)) < min(limit, len(ticks)):
        logs = logarithms(ticks)
        apart = np.abs(logs[:, None] - logarithms(chosen)[None, :]).min(axis=1)
        chosen.append(ticks[int(apart.argmax())])
    return sorted(set(chosen))


def space_of_candidates(candidates: Sequence[OptimizationProfile], smallest: Size, largest: Size) -> Space:
    """The space over recorded profiles: the opts of those that contain the whole range to serve."""
    whole = [p for p in candidates if p.covers(smallest) and p.covers(largest)]
    if not whole:
        raise NothingFeasible(
            f"no measured profile covers the range {smallest} to {largest} that the traffic needs; limit it "
            "with --cap, or measure a profile over that range"
        )
    opts = tuple(sorted({p.opt for p in whole}, key=lambda opt: opt.values))
    values = np.array([opt.values for opt in opts])
    low, high = (
        Size(smallest.axes, tuple(int(v) for v in corner))
        for corner in (np.maximum(values.min(axis=0), 1), np.maximum(values.max(axis=0), 1))
    )
    return Space(smallest=smallest, largest=largest, opts=opts, bounds=(low, high))
