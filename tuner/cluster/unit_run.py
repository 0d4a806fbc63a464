"""One unit of ingestion on its way: which of its tasks are out, and what they make together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tuner.cluster.counting_tasks import Broken, Summary
from tuner.cluster.merge_tree import Part
from tuner.cluster.units import CutFile, WholeFiles
from tuner.traffic.counted import Counted
from tuner.traffic.tally import Tally

Promised = tuple[Any, Any]
"""References to a summary and to what was counted."""


class Workers(Protocol):
    """Starts tasks on the cluster."""

    def whole(self, unit: WholeFiles) -> Promised: ...

    def span(self, cut: Any, span: tuple[int, int], first_row: int) -> Promised: ...

    def numbers(self, cut: Any, span: tuple[int, int]) -> Promised: ...

    def put(self, value: object) -> Any: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A task that is out: the unit that it works for, and its place among the unit's tasks."""

    run: UnitRun
    place: int
    promised: Promised


class UnitRun(Protocol):
    """`parts` is what the unit counts for, in order; empty until all of it is known."""

    parts: Sequence[Part]

    def calls(self) -> Iterator[Call]:
        """The tasks to begin with, each started when it is asked for."""

    def take(self, place: int, summary: Summary, counted: Any) -> tuple[Summary, Iterator[Call]]:
        """Note an answer: what it adds to the progress, and the tasks that follow from it."""


class WholeRun:
    """Whole files take one task."""

    def __init__(self, unit: WholeFiles, workers: Workers) -> None:
        self.parts: Sequence[Part] = ()
        self._unit = unit
        self._workers = workers

    def calls(self) -> Iterator[Call]:
        yield Call(self, 0, self._workers.whole(self._unit))

    def take(self, place: int, summary: Summary, counted: Any) -> tuple[Summary, Iterator[Call]]:
        self.parts = ((0, counted),)
        return summary, iter(())


class CutRun:
    """A task for each span; once all are back, rows are numbered by prefix sums over the spans.

    Spans in which a row's number decides where it counts are counted again with the number of their first
    row; of the others only the places of rejected rows move.
    """

    def __init__(self, unit: CutFile, workers: Workers) -> None:
        self.parts: Sequence[Part] = ()
        self._unit = unit
        self._workers = workers
        self._cut = workers.put((unit.file, unit.task))
        self._summaries: list[Summary] = [Summary()] * len(unit.spans)
        self._counted: list[Any] = [None] * len(unit.spans)
        self._out = len(unit.spans)
        self._starts: list[int] | None = None
        self._again: frozenset[int] = frozenset()

    def calls(self) -> Iterator[Call]:
        for place, span in enumerate(self._unit.spans):
            if self._unit.needs_numbers:
                yield Call(self, place, self._workers.numbers(self._cut, span))
            else:
                yield Call(self, place, self._workers.span(self._cut, span, 0))

    def take(self, place: int, summary: Summary, counted: Any) -> tuple[Summary, Iterator[Call]]:
        before = self._summaries[place]
        self._summaries[place], self._counted[place] = summary, counted
        self._out -= 1
        return summary.beyond(before), iter(()) if self._out else self._all_back()

    def _all_back(self) -> Iterator[Call]:
        broken = next((summary.broken for summary in self._summaries if summary.broken), None)
        if broken is not None:
            self.parts = ((0, self._workers.put(self._broken_file(broken))),)
            return
        if self._starts is None:
            rows = [summary.numbered_rows for summary in self._summaries]
            self._starts = [0, *itertools.accumulate(rows[:-1])]
            self._again = frozenset(filter(self._counts_again, range(len(rows))))
            if self._again:
                self._out = len(self._again)
                for place in sorted(self._again):
                    span = self._unit.spans[place]
                    yield Call(self, place, self._workers.span(self._cut, span, self._starts[place]))
                return
        moves = [0 if place in self._again else start for place, start in enumerate(self._starts)]
        self.parts = tuple(zip(moves, self._counted, strict=True))

    def _counts_again(self, place: int) -> bool:
        assert self._starts is not None  # set just before
        has_untimed = self._unit.task.rows.splits_untimed and self._summaries[place].untimed_count > 0
        return self._unit.needs_numbers or (has_untimed and self._starts[place] > 0)

    def _broken_file(self, broken: Broken) -> Counted:
        counted = Counted(Tally(self._unit.task.rules.axes))
        counted.reject_file(broken.error())
        return counted
