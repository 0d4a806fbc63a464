"""Why this set: what dropping each profile costs, what one more gains, and the second-best set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.axes import Size
from tuner.replay.score import Judge, LatencyTable
from tuner.search.compose import ComposedSet, Resources, best_set


@dataclass(frozen=True, slots=True)
class SecondBest:
    """The next best set of as many profiles, and by which share it is worse."""

    opts: tuple[Size, ...]
    value: float
    worse_by: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """`dropping` holds for each profile by which share the objective rises without it, None where the rest
    does not serve all sizes; `second_best` is None where there is no other set; `reasons` say why not the
    others.
    """

    dropping: tuple[float | None, ...]
    second_best: SecondBest | None
    reasons: tuple[str, ...]


def explain(
    table: LatencyTable, judge: Judge, rows: Sequence[int], opts: Sequence[Size], reasons: tuple[str, ...]
) -> Explanation:
    """Why the set of these rows, in the order of its profiles; `opts` are those of all rows of the table."""
    own = judge.best_served_ms(table.latency_ms[list(rows)])
    assert own is not None  # a set that is recommended serves every size
    value = judge.value(own)
    dropping: list[float | None] = []
    for row in rows:
        rest = [other for other in rows if other != row]
        left = judge.best_served_ms(table.latency_ms[rest]) if rest else None
        dropping.append(None if left is None else judge.value(left) / value - 1)
    second = second_best(table, judge, rows)
    shown = None
    if second is not None:
        shown = SecondBest(
            tuple(sorted((opts[row] for row in second.rows), key=lambda opt: (opt.work, opt.values))),
            second.value,
            second.value / value - 1,
        )
    return Explanation(tuple(dropping), shown, reasons)


def second_best(table: LatencyTable, judge: Judge, rows: Sequence[int]) -> ComposedSet | None:
    """The best other set of as many profiles: it lacks at least one of the rows."""
    found = []
    for row in rows:
        left = [other for other in range(len(table.latency_ms)) if other != row]
        composed = best_set(table.of(left), judge, len(rows), Resources.none(len(left))) if left else None
        if composed is not None:
            found.append(ComposedSet(tuple(left[r] for r in composed.rows), composed.value, composed.overrun))
    return min(found, key=lambda s: (s.overrun, s.value), default=None)
