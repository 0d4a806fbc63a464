"""Weighted percentiles by nearest rank, so that a percentile is a value that really occurred.

This is `numpy.quantile(..., method="inverted_cdf", weights=...)` (Hyndman and Fan 1996, definition 1):
the smallest value whose cumulated weight reaches the share p of the total.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def weighted_percentiles(
    values: NDArray[np.generic], weights: NDArray[np.generic], percents: Sequence[float]
) -> list[float]:
    """Nearest-rank percentiles (0 to 100) of values with non-negative weights of positive sum."""
    result = np.quantile(
        values.astype(np.float64),
        np.asarray(percents, dtype=np.float64) / 100.0,
        method="inverted_cdf",
        weights=weights.astype(np.float64),
    )
    return [float(value) for value in result]
