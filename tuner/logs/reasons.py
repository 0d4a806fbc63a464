"""Why a row is left out: the names users see, and the codes that arrays of rows carry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

REASONS = (
    "missing",
    "not_a_number",
    "not_finite",
    "not_whole",
    "not_positive",
    "too_large",
    "inputs_disagree",
    "model_cannot_run",
    "damaged",
)

FINE = 0
(
    MISSING,
    NOT_A_NUMBER,
    NOT_FINITE,
    NOT_WHOLE,
    NOT_POSITIVE,
    TOO_LARGE,
    INPUTS_DISAGREE,
    MODEL_CANNOT_RUN,
    DAMAGED,
) = range(1, len(REASONS) + 1)

ReasonCodes = NDArray[np.uint8]
"""Shape (rows,): `FINE`, or 1 + the place in `REASONS`."""


def reason_name(code: int) -> str:
    return REASONS[code - 1]


def first_reasons(parts: list[ReasonCodes | None], row_count: int) -> ReasonCodes | None:
    """One reason a row, the first of the parts that has any; None where every row is fine."""
    found: ReasonCodes | None = None
    for part in parts:
        if part is None:
            continue
        if found is None:
            found = part.copy()
        else:
            np.copyto(found, part, where=found == FINE)
    if found is None or not found.any():
        return None
    assert len(found) == row_count
    return found
