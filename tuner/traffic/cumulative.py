"""Undoes cumulative counts: buckets that include all smaller ones, and counters that only grow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.logs.bounds import OPEN_BOUND
from tuner.logs.columns import bound_axis
from tuner.traffic.cells import Cells
from tuner.traffic.counted import Counted
from tuner.traffic.open_logs import OpenLogs
from tuner.traffic.tally import UNTIMED_TUNE

Int64Array = NDArray[np.int64]


def count_once(cells: Cells, logs: OpenLogs, counted: Counted) -> tuple[Cells, list[str]]:
    """Cells that count each request once, in order, with what has to be said of them."""
    notes: list[str] = []
    kind = logs.question.log_kind
    if kind not in ("cumulative", "counters"):
        return cells, notes
    if kind == "cumulative" and logs.settings.log_kind is None:
        refuse_unsure(cells)
    bound = bound_axis(logs.question, logs.columns)
    if bound is not None:
        cells = bucket_counts(cells, logs.axes.index(bound))
        notes.append(f"sizes of {bound} are upper bounds of buckets; the requests in a bucket may be smaller")
    if kind == "counters":
        cells, restarted = _growth(cells, logs, counted)
        notes += [f"counters started anew {restarted} times; what they had then counts whole"] * bool(
            restarted
        )
    if bound is not None:
        cells = with_cap(cells, logs.axes.index(bound), (bound, logs.settings.cap.get(bound)))
    cells = cells.in_order()
    return cells.merged(cells.starts_us), notes


def _growth(cells: Cells, logs: OpenLogs, counted: Counted) -> tuple[Cells, int]:
    if counted.tally.level:
        raise TunerError("kind counters: too many snapshots; narrow them down with --since and --until")
    cells, restarted = counter_growth(cells, len(logs.axes))
    if counted.start_us is None:  # files were the snapshots, and nothing is known of their times
        cells = Cells(np.full(len(cells.counts), UNTIMED_TUNE), cells.sizes, cells.counts)
    return cells, restarted


def bucket_counts(cells: Cells, place: int) -> Cells:
    """From counts of everything up to a bound to counts of each bucket; `place` is that of the bound's axis.

    Raises TunerError where a count falls from one bound to the next.
    """
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
    used = counts > 0
    return Cells(starts[used], sizes[:, used], counts[used])


def with_cap(cells: Cells, place: int, cap: tuple[str, int | None]) -> Cells:
    """What lies above the last bound is counted at the cap; TunerError where there is none for it."""
    axis, limit = cap
    is_open = cells.sizes[place] == OPEN_BOUND
    above = int(cells.counts[is_open].sum())
    if not above:
        return cells
    last = int(cells.sizes[place][~is_open].max(initial=0))
    if limit is None or limit < last:
        raise TunerError(
            f"{above} of {int(cells.counts.sum())} requests lie above the last bound {last}, so there is no "
            f"max; say how large they can be with --cap {axis}=N, N from {last} up"
        )
    sizes = cells.sizes.copy()
    sizes[place, is_open] = limit
    return Cells(cells.starts_us, sizes, cells.counts)


def _refuse_falling(counts: Int64Array, totals: Int64Array, bound: Int64Array) -> None:
    falling = np.flatnonzero(counts < 0)
    if len(falling):
        at = int(falling[0])
        raise TunerError(
            f"cumulative buckets cannot fall, but the count goes from {totals[at - 1]} at {bound[at - 1]} to "
            f"{totals[at]} at {_shown(int(bound[at]))}; "
            "where a row counts its own bucket alone, pass --log-kind histogram"
        )


def _shown(bound: int) -> str:
    return "+Inf" if bound == OPEN_BOUND else str(bound)


def refuse_unsure(cells: Cells) -> None:
    """TunerError where buckets at several times could as well be counters: no count ever falls over time."""
    if len(np.unique(cells.starts_us)) < 2:
        return
    ordered = cells.in_order()
    same_size = ~ordered.size_starts()[1:]
    if same_size.any() and (np.diff(ordered.counts)[same_size] >= 0).all():
        raise TunerError(
            "no count falls from one time to the next, so these may be counters that go on growing or "
            "buckets of one interval each; say which with --log-kind counters or --log-kind cumulative"
        )


def counter_growth(cells: Cells, axis_count: int) -> tuple[Cells, int]:
    """From values of counters at snapshots to their growth between snapshots, put at the earlier one.

    A value that falls is a counter that started anew: all of it counts. Returns the growth and how often that
    was seen. Raises TunerError for a single snapshot.
    """
    snapshots = np.unique(cells.starts_us)
    if len(snapshots) < 2:
        raise TunerError(
            "kind counters needs two snapshots or more, and there is one; log a later one too, or pass "
            "--log-kind histogram"
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
