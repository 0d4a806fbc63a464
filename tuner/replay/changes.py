"""What it costs that one request is not like the one before: another size, or another profile.

An engine infers a size again faster than a new one: the first enqueue after a change of shapes also works
out the shapes, and after a change of profile it works on another context. Both are measured as the next
inference after the change against a steady one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.measurements.measurement import Mode
from tuner.measurements.source import SourceFacts

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCosts:
    """What the next inference takes longer, in ms: after another size, and after another profile.

    A change of profile is never cheaper than one of size, since it nearly always is one too.
    """

    size_ms: float = 0.0
    profile_ms: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.size_ms <= self.profile_ms and math.isfinite(self.profile_ms)):
            raise TunerError(
                f"changes cost {self.size_ms:g} ms (size) and {self.profile_ms:g} ms (profile); "
                "0 <= size <= profile is accepted"
            )

    @property
    def are_free(self) -> bool:
        return self.profile_ms == 0

    def charges(self, shares: FloatArray, profile_index: NDArray[np.int64]) -> FloatArray:
        """What each size pays on average, in ms, where requests come in random order.

        `shares`, shape (distinct,), are those of all inferences, adding up to 1; profile `profile_index[i]`
        serves size i, shape (..., distinct) as the result. The inference before one of size i used another
        profile, the same profile at another size, or was alike.
        """
        return self.least(shares) + self.beyond_least(shares, profile_index)

    def least(self, shares: FloatArray) -> FloatArray:
        """What each size pays in every set, in ms, shape (distinct,): the size before it was another one."""
        return np.asarray(self.size_ms * np.maximum(1 - shares, 0.0))

    def beyond_least(self, shares: FloatArray, profile_index: NDArray[np.int64]) -> FloatArray:
        """What each size pays because the profile before it was another one; shapes as in `charges`."""
        dearer_ms = self.profile_ms - self.size_ms
        if dearer_ms == 0:
            return np.zeros(profile_index.shape)
        of_profile = np.zeros(profile_index.shape)
        for index in range(int(profile_index.max(initial=0)) + 1):
            is_served = profile_index == index
            of_profile += np.where(is_served, (is_served @ shares)[..., None], 0.0)
        return np.asarray(dearer_ms * np.maximum(1 - of_profile, 0.0))


FREE = ChangeCosts()
"""Changes that cost nothing, or of which nothing is known."""


def changes_of(facts: SourceFacts, mode: Mode) -> ChangeCosts:
    """What was measured; what was not costs nothing, but for a change of profile at least that of size.

    CUDA graphs have a graph for each size, with its shapes worked out: a change starts another one.
    """
    if mode is Mode.CUDA_GRAPH:
        return FREE
    size_ms = facts.size_change_ms or 0.0
    return ChangeCosts(size_ms=size_ms, profile_ms=max(size_ms, facts.switch_ms or 0.0))
