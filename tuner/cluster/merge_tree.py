"""Merges results in a tree as they are promised, so that no machine ever holds all of them.

The last few are left to whoever wants the result: it has to travel there anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

FAN_IN = 16
"""Results that one task merges: 1,000 take three levels, and no merge ever holds twice as many."""

Part = tuple[int, Any]
"""A promised result, and how many rows the places of its rejected rows move by."""

Merge = Callable[[Sequence[Part]], Any]
"""Promises the merger of some parts, in their order."""


class MergeTree:
    """Takes parts in order; each level of the tree waits for `FAN_IN` of the level below."""

    def __init__(self, merge: Merge, fan_in: int = FAN_IN) -> None:
        self._merge = merge
        self._fan_in = fan_in
        self._levels: list[list[Part]] = []

    def add(self, part: Part) -> None:
        level = 0
        while True:
            if level == len(self._levels):
                self._levels.append([])
            waiting = self._levels[level]
            waiting.append(part)
            if len(waiting) < self._fan_in:
                return
            part = (0, self._merge(waiting))
            self._levels[level] = []
            level += 1

    def rest(self) -> list[Part]:
        """What is left to be merged, in order: `FAN_IN` parts at most."""
        later: list[Part] = []
        for waiting in self._levels:
            # What waits on a higher level came before what waits on the lower ones.
            later = [*waiting, *later]
            if len(later) > self._fan_in:
                later = [(0, self._merge(later))]
        return later
