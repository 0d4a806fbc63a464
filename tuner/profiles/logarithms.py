"""Sizes on the scale on which they are compared: a factor counts the same at every size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def logarithms(sizes: ArrayLike) -> NDArray[np.float64]:
    """Natural logarithms, of any shape; a dimension of zero is legal, and half a unit keeps it from one."""
    return np.asarray(np.log(np.maximum(sizes, 0.5)))
