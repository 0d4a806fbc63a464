"""Which sizes the model itself cannot run, judged once for each distinct size."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.model import Model
from tuner.traffic.histogram import SizeHistogram

Int64Array = NDArray[np.int64]

_MOST_KEPT = 1 << 18
_MOST_NODES_INFERRED = 200_000
_ENOUGH_TO_DOUBT = 16


class Runnable:
    """Judges by the dimensions that are formulas, and by sizes that were found to be bad before.

    Remembers its verdicts; one may be used by several threads, at worst a size is judged twice.
    """

    def __init__(
        self, model: Model | None, axes: tuple[str, ...], known_bad: Collection[tuple[int, ...]] = ()
    ) -> None:
        self._axes = axes
        # Without its graph, which is as large as the file and is not asked here: a cluster is sent this.
        self._model = None if model is None else replace(model, graph=None)
        self._known_bad = frozenset(known_bad)
        self._has_formulas = model is not None and any(
            not formula.is_axis for tensor in model.inputs for formula in tensor.formulas
        )
        self._verdicts: dict[tuple[int, ...], bool] = {}

    def cannot_run(self, sizes: Sequence[Int64Array]) -> NDArray[np.bool_] | None:
        """Rows of the given sizes (one array an axis) that cannot run; None where all can."""
        judges = self._has_formulas or self._known_bad
        if not judges or not sizes or not len(sizes[0]):
            return None
        distinct, rows = np.unique(np.stack(sizes, axis=1), axis=0, return_inverse=True)
        bad = np.array([self._is_bad(tuple(size)) for size in distinct.tolist()])
        return np.asarray(bad[rows.reshape(-1)]) if bad.any() else None

    def text(self, values: tuple[int, ...]) -> str:
        return ",".join(f"{axis}={value}" for axis, value in zip(self._axes, values, strict=True))

    def _is_bad(self, values: tuple[int, ...]) -> bool:
        if values not in self._verdicts:
            if len(self._verdicts) >= _MOST_KEPT:
                self._verdicts.clear()
            self._verdicts[values] = values in self._known_bad or self._has_no_shape(values)
        return self._verdicts[values]

    def _has_no_shape(self, values: tuple[int, ...]) -> bool:
        if not self._has_formulas or self._model is None or max(values) > LARGEST_DIMENSION:
            return False  # above the largest dimension only as an open bound, whose value comes later
        return self._model.shape_problem(Size(self._axes, values)) is not None


def graph_refuses(model: Model | None, histogram: SizeHistogram) -> dict[tuple[int, ...], str]:
    """Sizes at which the model's graph does not fit together, with what does not fit.

    The heaviest sizes are asked, as many as the graph's length allows. A graph that refuses all of many sizes
    is taken for one that cannot be followed, and says nothing.
    """
    if model is None or model.graph is None or not histogram.axes:
        return {}
    limit = max(16, _MOST_NODES_INFERRED // max(1, model.graph.node_count))
    asked = [histogram.size(row) for row in histogram.heaviest(limit)]
    refused: dict[tuple[int, ...], str] = {}
    for size in asked:
        why = model.graph.why_not(model.tensor_shapes(size))
        if why is not None:
            refused[size.values] = why
    is_silent = len(refused) == len(asked) and len(asked) >= _ENOUGH_TO_DOUBT
    return {} if is_silent else refused
