"""How fast a GPU is while several executions share it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.errors import TunerError


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Total rate of the GPU by executions in flight, one alone being 1.

    `total_rates[n - 1]` belongs to n executions, which share it evenly: 1.3 at two says that each of two
    takes 2 / 1.3 times as long as alone. Beyond what was measured the last rate holds. Nothing measured is
    one processor that is shared: more contexts then never carry more.
    """

    total_rates: tuple[float, ...] = (1.0,)
    is_measured: bool = False

    def __post_init__(self) -> None:
        if not self.total_rates or not all(math.isfinite(r) and r > 0 for r in self.total_rates):
            raise TunerError(f"a concurrency curve of {self.total_rates}; rates above zero are accepted")
        if self.total_rates[0] != 1.0:
            raise TunerError(
                f"the concurrency curve starts at {self.total_rates[0]:g}; one execution alone has the rate 1"
            )

    def rate(self, in_flight: int) -> float:
        return self.total_rates[min(in_flight, len(self.total_rates)) - 1]


SHARED = Concurrency()
"""One processor, shared: what is assumed where no concurrency was measured."""


def independent(contexts: int) -> Concurrency:
    """Contexts that do not slow each other down, like models on a GPU each."""
    return Concurrency(tuple(float(n) for n in range(1, contexts + 1)), is_measured=True)
