"""The size histogram: how often each distinct size occurs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.errors import TunerError
from tuner.traffic.percentiles import weighted_percentiles

if TYPE_CHECKING:
    import pandas as pd

Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SizeHistogram:
    """Distinct sizes with their counts, in lexical order of the sizes.

    `sizes` has shape (distinct, axes), `counts` has shape (distinct,); both are int64 and read-only.
    Any rows can be given: equal sizes are added up and zero counts left out.
    """

    axes: tuple[str, ...]
    sizes: Int64Array
    counts: Int64Array

    def __post_init__(self) -> None:
        counts = np.ascontiguousarray(self.counts, dtype=np.int64).reshape(-1)
        sizes = np.ascontiguousarray(self.sizes, dtype=np.int64)
        if sizes.ndim != 2 or sizes.shape[1] != len(self.axes):
            sizes = sizes.reshape(-1, len(self.axes)) if self.axes else sizes.reshape(len(counts), 0)
        if len(sizes) != len(counts):
            raise TunerError(f"histogram has {len(sizes)} sizes but {len(counts)} counts")
        if counts.size and counts.min() < 0:
            raise TunerError(f"histogram has a negative count, {counts.min()}")
        if sizes.size and (sizes.min() < 0 or sizes.max() > LARGEST_DIMENSION):
            raise TunerError(f"histogram has sizes outside 0 to {LARGEST_DIMENSION}")
        sizes, counts = _grouped(sizes, counts)
        sizes.setflags(write=False)
        counts.setflags(write=False)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of(cls, counts: Mapping[Size, int]) -> SizeHistogram:
        """From sizes that share their axes; at least one is needed to know those."""
        axes = next(iter(counts)).axes
        rows = np.array([size.values for size in counts], dtype=np.int64)
        return cls(axes, rows, np.array(list(counts.values()), dtype=np.int64))

    @classmethod
    def empty(cls, axes: Sequence[str]) -> SizeHistogram:
        return cls(tuple(axes), np.zeros((0, len(axes)), np.int64), np.zeros(0, np.int64))

    @classmethod
    def merged(cls, parts: Iterable[SizeHistogram]) -> SizeHistogram:
        """All counts together; the parts must have the same axes."""
        histograms = list(parts)
        axes = histograms[0].axes
        for other in histograms:
            if other.axes != axes:
                raise TunerError(f"cannot merge histograms over {list(axes)} and {list(other.axes)}")
        return cls(
            axes,
            np.concatenate([h.sizes for h in histograms]),
            np.concatenate([h.counts for h in histograms]),
        )

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> SizeHistogram:
        """From a frame with one column an axis and the column `count`."""
        axes = tuple(str(column) for column in frame.columns if column != "count")
        return cls(axes, frame[list(axes)].to_numpy(np.int64), frame["count"].to_numpy(np.int64))

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        columns = {axis: self.sizes[:, i] for i, axis in enumerate(self.axes)}
        return pd.DataFrame({**columns, "count": self.counts})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SizeHistogram):
            return NotImplemented
        return (
            self.axes == other.axes
            and np.array_equal(self.sizes, other.sizes)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: use it as a value, never as a key

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def request_count(self) -> int:
        return int(self.counts.sum())

    @property
    def work(self) -> FloatArray:
        """Work of each size, shape (distinct,); float64, since products may exceed 64 bits."""
        return np.asarray(np.prod(self.sizes.astype(np.float64), axis=1))

    @property
    def total_work(self) -> float:
        return float(self.work @ self.counts)

    def size(self, row: int) -> Size:
        return Size(self.axes, tuple(int(v) for v in self.sizes[row]))

    def values(self, axis: str) -> Int64Array:
        """The axis' value of each size, shape (distinct,)."""
        if axis not in self.axes:
            raise TunerError(f"there is no axis '{axis}'; the axes are {list(self.axes)}")
        return self.sizes[:, self.axes.index(axis)]

    def percentiles(self, axis: str, percents: Sequence[float]) -> list[int]:
        """Nearest-rank percentiles of one axis over requests."""
        return [int(v) for v in weighted_percentiles(self.values(axis), self.counts, percents)]

    def work_percentiles(self, percents: Sequence[float]) -> list[int]:
        return [int(v) for v in weighted_percentiles(self.work, self.counts, percents)]

    def heaviest(self, limit: int, *, by_work: bool = False) -> list[int]:
        """Rows of the sizes that weigh most, in falling order; ties keep the order of the sizes."""
        weights = self.counts * self.work if by_work else self.counts
        return [int(row) for row in np.argsort(-weights, kind="stable")[:limit]]

    def where(self, keep: NDArray[np.bool_]) -> SizeHistogram:
        return SizeHistogram(self.axes, self.sizes[keep], self.counts[keep])

    def with_sizes(self, sizes: Int64Array) -> SizeHistogram:
        """The same counts at other sizes, row by row; sizes that fall together are added up."""
        return SizeHistogram(self.axes, sizes, self.counts)

    @property
    def smallest(self) -> Size:
        """Least value of each axis; as a whole it need not have occurred."""
        return Size(self.axes, tuple(int(v) for v in self.sizes.min(axis=0)))

    @property
    def largest(self) -> Size:
        """Largest value of each axis; as a whole it need not have occurred."""
        return Size(self.axes, tuple(int(v) for v in self.sizes.max(axis=0)))


def _grouped(sizes: Int64Array, counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    used = counts > 0
    sizes, counts = sizes[used], counts[used]
    if len(counts) < 2:
        return sizes.copy(), counts.copy()
    order = np.lexsort(sizes.T[::-1]) if sizes.shape[1] else np.arange(len(counts))
    sizes, counts = sizes[order], counts[order]
    starts = np.ones(len(counts), dtype=bool)
    starts[1:] = (sizes[1:] != sizes[:-1]).any(axis=1)
    first = np.flatnonzero(starts)
    return sizes[first], np.add.reduceat(counts, first)
