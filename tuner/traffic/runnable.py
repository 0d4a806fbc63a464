"""Which sizes the model itself cannot run, judged once for each distinct size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.model import Model

Int64Array = NDArray[np.int64]

_MOST_KEPT = 1 << 18


class Runnable:
    """Remembers its verdicts; one may be used by several threads, at worst a size is judged twice."""

    def __init__(self, model: Model | None, axes: tuple[str, ...]) -> None:
        self._axes = axes
        self._model = model
        self._judges = model is not None and any(
            not formula.is_axis for tensor in model.inputs for formula in tensor.formulas
        )
        self._verdicts: dict[tuple[int, ...], str | None] = {}

    def cannot_run(self, sizes: Sequence[Int64Array]) -> NDArray[np.bool_] | None:
        """Rows of the given sizes (one array an axis) that cannot run; None where all can."""
        if not self._judges or not sizes or not len(sizes[0]):
            return None
        distinct, rows = np.unique(np.stack(sizes, axis=1), axis=0, return_inverse=True)
        bad = np.array([self.why_not(tuple(size)) is not None for size in distinct.tolist()])
        return bad[rows.reshape(-1)] if bad.any() else None

    def why_not(self, values: tuple[int, ...]) -> str | None:
        if values not in self._verdicts:
            assert self._model is not None
            if len(self._verdicts) >= _MOST_KEPT:
                self._verdicts.clear()
            if max(values) > LARGEST_DIMENSION:  # an open bound: how large it is comes later
                return None
            self._verdicts[values] = self._model.why_not(Size(self._axes, values))
        return self._verdicts[values]
