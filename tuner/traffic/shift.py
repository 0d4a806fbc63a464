"""How far traffic has moved: the share of its weight that lies in other sizes than before, with an interval.

Sizes are compared in coarse cells, each axis rounded up to a power of two, so that a padding bucket which
moves a little is no drift and a document can carry the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.traffic.histogram import FloatArray, Int64Array, SizeHistogram
from tuner.traffic.traffic import Traffic

REPLICATES = 400
CONFIDENCE = 0.95
MOST_BLOCKS = 48
"""Blocks of time that are resampled whole: half an hour each for a day's log."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Traffic in coarse cells: `sizes` of shape (cells, axes) are upper ends, the others of shape (cells,).

    `counts` are inferences, `requests` the requests in them, `work` the work of those inferences.
    """

    axes: tuple[str, ...]
    sizes: Int64Array
    counts: FloatArray
    requests: FloatArray
    work: FloatArray

    def weights(self, weight: str) -> FloatArray:
        return self.requests if weight == "requests" else self.work

    def rows(self) -> list[list[int | float]]:
        """One list a cell: its sizes, then counts, requests and work."""
        numbers = np.stack([self.counts, self.requests, self.work], axis=1)
        return [
            [*size, *(round(float(v)) for v in row)]
            for size, row in zip(self.sizes.tolist(), numbers, strict=True)
        ]

    def followed_by(self, later: Cells, memory: float) -> Cells:
        """Both together, these at the share `memory` of their weight; cells of less than half a count go."""
        order = Order.of(self, later)
        sums = []
        for name in ("counts", "requests", "work"):
            total = np.zeros(len(order.places))
            np.add.at(total, order.rows(self.sizes), memory * getattr(self, name))
            np.add.at(total, order.rows(later.sizes), getattr(later, name))
            sums.append(total)
        kept = sums[0] >= 0.5
        sizes = np.array(list(order.places), dtype=np.int64).reshape(-1, len(self.axes))
        return Cells(self.axes, sizes[kept], sums[0][kept], sums[1][kept], sums[2][kept])

    @classmethod
    def from_rows(cls, axes: Sequence[str], rows: Sequence[Sequence[float]]) -> Cells:
        table = np.array(rows, dtype=np.float64).reshape(-1, len(axes) + 3)
        numbers = table[:, len(axes) :]
        return cls(
            tuple(axes),
            table[:, : len(axes)].astype(np.int64),
            numbers[:, 0],
            numbers[:, 1],
            numbers[:, 2],
        )


@dataclass(frozen=True, slots=True)
class Shift:
    """Share of the weight (0 to 1) that moved to other cells; the true one lies from `low` to `high`.

    The interval is the conservative one of the triangle inequality: the distance of two samples differs
    from that of what they were drawn from by no more than the distances of the samples to it.
    """

    value: float
    low: float
    high: float


def coarse(sizes: Int64Array) -> Int64Array:
    """Each value rounded up to a power of two; zero stays."""
    doublings = np.ceil(np.log2(np.maximum(sizes, 1)))
    return np.where(sizes > 0, np.exp2(doublings), 0).astype(np.int64)


def cells_of(histogram: SizeHistogram, requests: FloatArray) -> Cells:
    """The histogram in cells; `requests` of shape (distinct,) are those of each size."""
    sizes, cell = np.unique(coarse(histogram.sizes), axis=0, return_inverse=True)

    def total(values: NDArray[np.generic]) -> FloatArray:
        summed = np.bincount(cell.reshape(-1), weights=values, minlength=len(sizes))
        return np.asarray(summed, dtype=np.float64)

    work = total(histogram.work * histogram.counts)
    return Cells(histogram.axes, sizes, total(histogram.counts), total(requests), work)


def shift_between(then: Cells, now: Traffic, weight: str, seed: int = 0) -> Shift:
    """How far the traffic is from that of `then`, by requests or by work.

    Where the log has times, blocks of time are resampled, so that bursts widen the interval; the sampling
    noise of `then` is taken to be as bursty.
    """
    today = cells_of(now.histogram, now.requests(now.histogram))
    order = Order.of(then, today)
    p, q = order.shares(then, weight), order.shares(today, weight)
    random = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    now_noise = _now_replicates(now, today, order, weight, random) - q
    burstiness = _burstiness(now_noise, q, float(today.counts.sum()))
    then_noise = _replicates(p, float(then.counts.sum()) / burstiness, random) - p
    noise = float(np.quantile(0.5 * np.abs(now_noise - then_noise).sum(axis=1), CONFIDENCE))
    value = float(0.5 * np.abs(p - q).sum())
    return Shift(value, max(0.0, value - noise), min(1.0, value + noise))


@dataclass(frozen=True, slots=True)
class Order:
    """The cells of several sides in one order: the place of each size."""

    places: dict[tuple[int, ...], int]

    @classmethod
    def of(cls, *sides: Cells) -> Order:
        union = sorted({tuple(size) for side in sides for size in side.sizes.tolist()})
        return cls({size: place for place, size in enumerate(union)})

    def rows(self, sizes: Int64Array) -> Int64Array:
        return np.array([self.places[tuple(size)] for size in sizes.tolist()], dtype=np.int64)

    def shares(self, side: Cells, weight: str) -> FloatArray:
        placed = np.zeros(len(self.places))
        placed[self.rows(side.sizes)] = side.weights(weight)
        return np.asarray(placed / placed.sum()) if placed.sum() else placed


def _now_replicates(
    now: Traffic, today: Cells, order: Order, weight: str, random: np.random.Generator
) -> NDArray[np.float64]:
    blocks = _blocks(now, order, weight)
    if blocks is None:
        return _replicates(order.shares(today, weight), float(today.counts.sum()), random)
    drawn = random.multinomial(len(blocks), np.full(len(blocks), 1 / len(blocks)), size=REPLICATES)
    sums = drawn @ blocks
    return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300))


def _replicates(shares: FloatArray, count: float, random: np.random.Generator) -> NDArray[np.float64]:
    size = max(1, round(count))
    return random.multinomial(size, shares / shares.sum(), size=REPLICATES) / size


def _blocks(now: Traffic, order: Order, weight: str) -> NDArray[np.float64] | None:
    """The weight of each cell in each block of time, shape (blocks, cells); None for a log without times."""
    buckets = now.buckets
    if buckets is None:
        return None
    first, last = int(buckets.starts_us.min()), int(buckets.starts_us.max())
    number = (buckets.starts_us - first) * MOST_BLOCKS // max(1, last - first + 1)
    used, block = np.unique(number, return_inverse=True)
    if len(used) < 2:
        return None
    histogram = now.histogram
    each = histogram.work if weight == "work" else now.requests(histogram) / histogram.counts
    cell = order.rows(coarse(histogram.sizes))[buckets.size_rows]
    blocks = np.zeros((len(used), len(order.places)))
    np.add.at(blocks, (block.reshape(-1), cell), buckets.counts * each[buckets.size_rows])
    return blocks


def _burstiness(noise: NDArray[np.float64], shares: FloatArray, count: float) -> float:
    """How many times the variance of the shares is that of independent requests; at least 1."""
    independent = float((shares * (1 - shares)).sum()) / max(count, 1.0)
    return max(1.0, float(noise.var(axis=0).sum()) / independent) if independent > 0 else 1.0
