"""Upper bounds of cumulative buckets (Prometheus `le`), the open one included."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from tuner.axes import LARGEST_DIMENSION
from tuner.logs.numbers import Int64Array, Limits, plain_values, whole_number
from tuner.logs.reasons import FINE, ReasonCodes

OPEN_BOUND = LARGEST_DIMENSION + 1
"""Stands for `+Inf`."""

_OPEN_TEXTS = frozenset(("+inf", "inf", "infinity", "+infinity"))
_LIMITS = Limits(least=0)


def bounds(column: Any) -> tuple[Int64Array, ReasonCodes | None]:
    """Bounds of shape (rows,); a bound between two whole numbers is the lower one, since sizes are whole."""
    values = column if isinstance(column, list) else plain_values(column)
    if not values:
        return np.zeros(0, np.int64), None
    pairs = np.array([_bound(value) for value in values], dtype=np.int64)
    codes = pairs[:, 1].astype(np.uint8)
    return pairs[:, 0].copy(), codes if codes.any() else None


def _bound(value: Any) -> tuple[int, int]:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str) and value.strip().lower() in _OPEN_TEXTS:
        return OPEN_BOUND, FINE
    if isinstance(value, float) and value == math.inf:
        return OPEN_BOUND, FINE
    if isinstance(value, str) and "." in value and value.strip().replace(".", "", 1).isdigit():
        value = Decimal(value.strip())
    if isinstance(value, (float, Decimal)) and math.isfinite(value):
        value = math.floor(value)
    return whole_number(value, _LIMITS)
