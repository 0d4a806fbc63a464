"""Service times of every size that a batcher may execute, as a table that a replay can index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.traffic.arrivals import Arrivals

Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]

TICKS_PER_AXIS = 64
"""Values of an axis other than the batch that get a row of their own; of more, neighbours are rounded up."""


@dataclass(frozen=True, slots=True, eq=False)
class ExecutedSizes:
    """The sizes that may be executed: a cell for each choice of the other axes, times batches up to a limit.

    `ticks` has the values of each axis but the batch, rising. Without a batch axis every execution has one
    request and the tables one batch.
    """

    axes: tuple[str, ...]
    batch_axis: str | None
    ticks: tuple[Int64Array, ...]
    max_batch: int

    @property
    def other_axes(self) -> tuple[str, ...]:
        return tuple(axis for axis in self.axes if axis != self.batch_axis)

    @property
    def strides(self) -> Int64Array:
        """What to multiply tick positions with to get a cell, shape (other axes,)."""
        lengths = [len(ticks) for ticks in self.ticks]
        return np.array([int(np.prod(lengths[i + 1 :])) for i in range(len(lengths))], dtype=np.int64)

    @property
    def cell_count(self) -> int:
        return int(np.prod([len(ticks) for ticks in self.ticks], dtype=np.int64))

    def cell_values(self) -> Int64Array:
        """The other axes' values of each cell, shape (cells, other axes)."""
        if not self.ticks:
            return np.zeros((1, 0), dtype=np.int64)
        return np.stack([m.reshape(-1) for m in np.meshgrid(*self.ticks, indexing="ij")], axis=1)

    def rows(self) -> Int64Array:
        """All sizes, shape (cells x max_batch, axes): cell by cell with rising batches."""
        cells, batches = self.cell_values(), np.arange(1, self.max_batch + 1)
        result = np.empty((len(cells), self.max_batch, len(self.axes)), dtype=np.int64)
        for column, axis in enumerate(self.axes):
            if axis == self.batch_axis:
                result[:, :, column] = batches
            else:
                result[:, :, column] = cells[:, self.other_axes.index(axis), None]
        return result.reshape(-1, len(self.axes))

    def table(self, latency_ms: FloatArray) -> FloatArray:
        """Latencies of `rows()` as shape (cells, max_batch + 1); NaN stands at batch 0."""
        result = np.full((self.cell_count, self.max_batch + 1), np.nan)
        result[:, 1:] = latency_ms.reshape(self.cell_count, self.max_batch)
        return result

    def places(self, values: Int64Array) -> Int64Array:
        """Tick positions of values of the other axes (rows, other axes), each rounded up."""
        columns = [np.searchsorted(ticks, values[:, i]) for i, ticks in enumerate(self.ticks)]
        if not columns:
            return np.zeros((len(values), 0), dtype=np.int64)
        places = np.stack(columns, axis=1).astype(np.int64)
        beyond = places == np.array([len(ticks) for ticks in self.ticks])
        if beyond.any():
            row = int(np.flatnonzero(beyond.any(axis=1))[0])
            raise TunerError(f"size {values[row].tolist()} of {list(self.other_axes)} is beyond the table")
        return places

    def largest_rounding(self, arrivals: Arrivals) -> float:
        """The largest share by which an axis of a request is rounded up to its tick."""
        values = _others(arrivals, self.other_axes)
        if not self.ticks or not len(values):
            return 0.0
        places = self.places(values)
        ticks = np.stack([t[places[:, i]] for i, t in enumerate(self.ticks)], axis=1)
        return float((ticks / np.maximum(values, 1) - 1).max())


def executed_sizes(arrivals: Arrivals, batch_axis: str | None, max_batch: int) -> ExecutedSizes:
    """What may be executed for these arrivals under batches up to `max_batch`."""
    others = tuple(axis for axis in arrivals.axes if axis != batch_axis)
    values = _others(arrivals, others)
    ticks = tuple(_ticks(np.unique(values[:, i])) for i in range(len(others)))
    return ExecutedSizes(arrivals.axes, batch_axis, ticks, max_batch if batch_axis is not None else 1)


def _others(arrivals: Arrivals, others: Sequence[str]) -> Int64Array:
    """The other axes' values of the sizes that really arrive, shape (distinct, other axes)."""
    return arrivals.sizes[arrivals.occurring][:, [arrivals.axes.index(axis) for axis in others]]


def _ticks(values: Int64Array) -> Int64Array:
    """The values, or the largest of each bucket of a rising geometric row of buckets."""
    if len(values) <= TICKS_PER_AXIS:
        return values
    edges = np.geomspace(max(int(values[0]), 1), int(values[-1]), TICKS_PER_AXIS)
    last = np.searchsorted(values, edges * (1 + 1e-12), side="right") - 1
    return values[np.unique(last[last >= 0])]


def latency_cells(sizes: ExecutedSizes, curves: Sequence[Curve]) -> FloatArray:
    """Latency of each profile at each executed size in ms, shape (profiles, cells, max_batch + 1).

    NaN where a profile has no time for a size.
    """
    rows = sizes.rows()
    return np.stack([sizes.table(curve.latencies(rows)[0]) for curve in curves])


def not_served(sizes: ExecutedSizes, cell: int, batch: int) -> Size:
    """The size of a cell and batch, for a message."""
    others = dict(zip(sizes.other_axes, (int(v) for v in sizes.cell_values()[cell]), strict=True))
    values = {axis: batch if axis == sizes.batch_axis else others[axis] for axis in sizes.axes}
    return Size.from_mapping(values, sizes.axes)
