"""Undoes cumulative counts: buckets that include all smaller ones, and counters that only grow."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.logs.bounds import OPEN_BOUND
from tuner.traffic.cells import Cells

Int64Array = NDArray[np.int64]


def bucket_counts(cells: Cells, axes: tuple[str, ...], bound_axis: str, cap: Mapping[str, int]) -> Cells:
    """From counts of everything up to a bound to counts of each bucket, at its upper bound.

    What lies above the last bound is counted at the cap. Raises TunerError where there is no cap for it, and
    where a count falls from one bound to the next.
    """
    place = axes.index(bound_axis)
    others = [values for i, values in enumerate(cells.sizes) if i != place]
    order = np.lexsort((cells.sizes[place], *others, cells.starts_us))
    starts, sizes, totals = cells.starts_us[order], cells.sizes[:, order], cells.counts[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = starts[1:] != starts[:-1]
    for i, values in enumerate(sizes):
        if i != place:
            is_first[1:] |= values[1:] != values[:-1]
    counts = np.where(is_first, totals, np.diff(totals, prepend=0))
    _refuse_falling(counts, totals, sizes[place])
    sizes = _without_open_bound(sizes, counts, (place, bound_axis), cap)
    used = counts > 0
    return Cells(starts[used], sizes[:, used], counts[used])


def _refuse_falling(counts: Int64Array, totals: Int64Array, bound: Int64Array) -> None:
    falling = np.flatnonzero(counts < 0)
    if len(falling):
        at = int(falling[0])
        raise TunerError(
            f"cumulative buckets cannot fall, but the count goes from {totals[at - 1]} at {bound[at - 1]} to "
            f"{totals[at]} at {_shown(int(bound[at]))}; where a row counts its own bucket alone, pass --log-kind histogram"
        )


def _shown(bound: int) -> str:
    return "+Inf" if bound == OPEN_BOUND else str(bound)


def _without_open_bound(
    sizes: Int64Array, counts: Int64Array, axis: tuple[int, str], cap: Mapping[str, int]
) -> Int64Array:
    place, name = axis
    is_open = sizes[place] == OPEN_BOUND
    above = int(counts[is_open].sum())
    if not above:
        return sizes
    finite = sizes[place][~is_open]
    last = int(finite.max()) if len(finite) else 0
    limit = cap.get(name)
    if limit is None or limit < last:
        raise TunerError(
            f"{above} of {int(counts.sum())} requests lie above the last bound {last}, so there is no max; "
            f"say how large they can be with --cap {name}=N, N from {last} up"
        )
    sizes = sizes.copy()
    sizes[place, is_open] = limit
    return sizes


def refuse_unsure(cells: Cells) -> None:
    """TunerError where buckets at several times could as well be counters: no count ever falls over time."""
    if len(np.unique(cells.starts_us)) < 2:
        return
    ordered = cells.in_order()
    same_size = ~ordered.size_starts()[1:]
    if same_size.any() and (np.diff(ordered.counts)[same_size] >= 0).all():
        raise TunerError(
            "no count falls from one time to the next, so these may be counters that go on growing or buckets of "
            "one interval each; say which with --log-kind counters or --log-kind cumulative"
        )


def counter_growth(cells: Cells, axis_count: int) -> tuple[Cells, int]:
    """From values of counters at snapshots to their growth between snapshots, put at the earlier one.

    A value that falls is a counter that started anew: all of it counts. Returns the growth and how often that
    was seen. Raises TunerError for a single snapshot.
    """
    snapshots = np.unique(cells.starts_us)
    if len(snapshots) < 2:
        raise TunerError(
            "kind counters needs two snapshots or more, and there is one; log a later one too, or pass --log-kind histogram"
        )
    keys, column = _series(cells, axis_count)
    values = np.zeros((len(snapshots), keys.shape[1]), np.int64)
    np.add.at(values, (np.searchsorted(snapshots, cells.starts_us), column), cells.counts)
    growth = np.diff(values, axis=0)
    restarted = int((growth < 0).sum())
    growth = np.where(growth < 0, values[1:], growth)
    rows, columns = np.nonzero(growth)
    return Cells(snapshots[rows], keys[:, columns], growth[rows, columns]), restarted


def _series(cells: Cells, axis_count: int) -> tuple[Int64Array, Int64Array]:
    if not axis_count:
        return np.zeros((0, 1), np.int64), np.zeros(len(cells.counts), np.int64)
    keys, column = np.unique(cells.sizes, axis=1, return_inverse=True)
    return keys, column.reshape(-1)
