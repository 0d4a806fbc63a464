"""Merges results in a tree as they are promised, so that no machine ever holds all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FAN_IN = 16
"""Results that one task merges: 1,000 take three levels, and no merge ever holds twice as many."""

Merge = Callable[[Sequence[Any]], Any]
"""Promises the merger of some promised results, in their order."""


class MergeTree:
    """Takes promised results in order; each level of the tree waits for `FAN_IN` of the level below."""

    def __init__(self, merge: Merge, fan_in: int = FAN_IN) -> None:
        self._merge = merge
        self._fan_in = fan_in
        self._levels: list[list[Any]] = []

    def add(self, promised: Any) -> None:
        level = 0
        while True:
            if level == len(self._levels):
                self._levels.append([])
            waiting = self._levels[level]
            waiting.append(promised)
            if len(waiting) < self._fan_in:
                return
            promised = self._merge(waiting)
            self._levels[level] = []
            level += 1

    def result(self) -> Any | None:
        """The promise of everything in order, None where nothing was added."""
        later: list[Any] = []
        for waiting in self._levels:
            # What waits on a higher level came before what waits on the lower ones.
            later = [*waiting, *later]
            if len(later) > self._fan_in:
                later = [self._merge(later)]
        return (self._merge(later) if len(later) > 1 else later[0]) if later else None
