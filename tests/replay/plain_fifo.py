"""Requests served one by one on contexts that share a GPU, in plain and slow Python, to compare by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class PlainServer:
    """Service and profile of a size, what changes take (all in seconds), and the GPU's rate by executions."""

    contexts: int
    rate: Callable[[int], float]
    service_s: Callable[[Hashable], float]
    profile_of: Callable[[Hashable], int]
    size_change_s: float
    profile_change_s: float

    def work_s(self, size: Hashable, before: Hashable | None, changes: Counter[str]) -> float:
        """What an execution takes on a context that executed `before`; a change is counted."""
        if before is None or before == size:
            return self.service_s(size)
        if self.profile_of(before) == self.profile_of(size):
            changes["size"] += 1
            return self.service_s(size) + self.size_change_s
        changes["profile"] += 1
        return self.service_s(size) + self.profile_change_s


@dataclass
class _Gpu:
    """Seconds of work left by context, reckoned at `at_s`, and each context's last size."""

    server: PlainServer
    at_s: float = 0.0
    left_s: dict[int, float] = field(default_factory=dict)
    last: dict[int, Hashable] = field(default_factory=dict)

    def end(self) -> tuple[float, int]:
        """When which context ends next, infinity where none is busy."""
        if not self.left_s:
            return np.inf, -1
        context = min(sorted(self.left_s), key=lambda c: self.left_s[c])
        busy = len(self.left_s)
        return self.at_s + max(self.left_s[context], 0.0) * busy / self.server.rate(busy), context

    def settle(self, now_s: float) -> None:
        busy = len(self.left_s)
        for context in self.left_s:
            self.left_s[context] -= (now_s - self.at_s) * self.server.rate(busy) / busy
        self.at_s = now_s

    def idle(self) -> int | None:
        """The first idle context."""
        return next((c for c in range(self.server.contexts) if c not in self.left_s), None)


def plain_fifo(arrival_s: Sequence[float], sizes: Sequence[Hashable], server: PlainServer):
    """Start and end of each request in seconds, and how often size and profile changed."""
    start_s, finish_s = np.full(len(sizes), np.nan), np.full(len(sizes), np.nan)
    gpu, changes, request_of = _Gpu(server), Counter(), {}
    coming, head = 0, 0
    while np.isnan(finish_s).any():
        arrives_s = arrival_s[coming] if coming < len(sizes) else np.inf
        ends_s, ended = gpu.end()
        now_s = min(ends_s, arrives_s)
        if ends_s <= arrives_s:
            gpu.settle(now_s)
            del gpu.left_s[ended]
            finish_s[request_of[ended]] = now_s
        else:
            coming += 1
        if head < coming and (context := gpu.idle()) is not None:
            gpu.settle(now_s)
            size = sizes[head]
            gpu.left_s[context] = server.work_s(size, gpu.last.get(context), changes)
            gpu.last[context], request_of[context], start_s[head] = size, head, now_s
            head += 1
    return start_s, finish_s, changes
