"""Response times that a log reports beside those of a replay of what was deployed then."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.replay.response import RESPONSE_PERCENTS, QueueReplay

LARGEST_DISAGREEMENT = 0.2


@dataclass(frozen=True, slots=True)
class Calibration:
    """For each percent the observed and the replayed response time in ms."""

    quantiles: tuple[tuple[float, float, float], ...]

    @property
    def worst(self) -> float:
        """The largest disagreement, as a share of what was observed."""
        return max(abs(replayed / observed - 1) for _, observed, replayed in self.quantiles)

    @property
    def agrees(self) -> bool:
        return self.worst <= LARGEST_DISAGREEMENT


def calibration(observed_ms: NDArray[np.float64] | None, played: QueueReplay) -> Calibration | None:
    """Quantile by quantile; None where nothing was observed, or where the replay has no percentiles."""
    if observed_ms is None or not played.response_ms or not (observed_ms > 0).all():
        return None
    found = np.quantile(observed_ms, np.array(RESPONSE_PERCENTS) / 100, method="inverted_cdf")
    return Calibration(
        tuple(
            (p, float(seen), played.response_ms[p]) for p, seen in zip(RESPONSE_PERCENTS, found, strict=True)
        )
    )
