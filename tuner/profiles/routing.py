"""Routing: which profile of a set serves a size at run time, one function a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.model import Model
from tuner.profiles.logarithms import logarithms
from tuner.profiles.profile import ProfileSet

IndexArray = NDArray[np.int64]
NOT_COVERED = -1
SAME_LOG_DISTANCE = 1e-9
"""Log distances this close are a tie, so that the last digit of a logarithm never decides a route."""


def route_best(profiles: ProfileSet, sizes: NDArray[np.int64], latency_ms: NDArray[np.float64]) -> IndexArray:
    """The covering profile with the least latency; ties go to the lower index.

    `latency_ms` has shape (profiles, sizes), NaN where a profile has no time for a size. The result has
    shape (sizes,) with -1 where no profile covers.
    """
    covering = _covering(profiles, sizes) & np.isfinite(latency_ms)
    ranked = np.where(covering, latency_ms, np.inf)
    return _chosen(ranked.argmin(axis=0), covering)


def route_first_fit(profiles: ProfileSet, sizes: NDArray[np.int64]) -> IndexArray:
    """The first profile in the set's order that covers the size."""
    covering = _covering(profiles, sizes)
    return _chosen(covering.argmax(axis=0), covering)


def route_profile_zero(profiles: ProfileSet, sizes: NDArray[np.int64]) -> IndexArray:
    """Profile 0 or none, as ONNX Runtime's TensorRT provider selects."""
    covering = _covering(profiles, sizes)
    return np.where(covering[0], 0, NOT_COVERED)


def route_sticky(profiles: ProfileSet, sizes: NDArray[np.int64]) -> IndexArray:
    """Requests in order of arrival: each stays with the profile of the one before while that covers.

    Where it does not, the first covering profile in the set's order takes over; a request that none covers
    changes nothing. Profile 0 is in place at first.
    """
    covering = _covering(profiles, sizes)
    first = _chosen(covering.argmax(axis=0), covering)
    served, current = np.empty(len(sizes), dtype=np.int64), 0
    for row in range(len(sizes)):
        if first[row] == NOT_COVERED:
            served[row] = NOT_COVERED
            continue
        if not covering[current, row]:
            current = int(first[row])
        served[row] = current
    return served


def route_nearest_opt(profiles: ProfileSet, sizes: NDArray[np.int64], model: Model) -> IndexArray:
    """As Triton's TensorRT backend chooses (its `instance_state.cc`).

    Among covering profiles the least distance; ties go to the lower index.
    """
    covering = _covering(profiles, sizes)
    opts = np.array([profile.opt.values for profile in profiles], dtype=np.int64)
    ranked = np.where(covering, opt_distances(opts, sizes, profiles.axes, model), np.inf)
    return _chosen(ranked.argmin(axis=0), covering)


def opt_distances(
    opts: NDArray[np.int64], sizes: NDArray[np.int64], axes: tuple[str, ...], model: Model
) -> NDArray[np.float64]:
    """What `nearest_opt` compares, shape (opts, sizes).

    The sum over input tensors of |opt[0] - B| plus, for i >= 1, |opt[i] - shape[i-1]| with shape[0] = B, the
    batch: each dimension is compared with its left neighbour, so the last one never counts.
    """
    own, _ = _all_dims(opts, axes, model)
    others, left = _all_dims(sizes, axes, model)
    distances = np.zeros((len(opts), len(sizes)))
    for dim in range(own.shape[1]):
        distances += np.abs(own[:, dim, None] - others[None, :, left[dim]])
    return distances


def _all_dims(
    sizes: NDArray[np.int64], axes: tuple[str, ...], model: Model
) -> tuple[NDArray[np.float64], list[int]]:
    """Every dimension of every input, shape (sizes, dimensions), and the place of its left neighbour."""
    rows, left = [], list[int]()
    for values in sizes.tolist():
        shapes = model.tensor_shapes(Size(axes, tuple(values))).values()
        rows.append([dim for shape in shapes for dim in shape])
        if not left:
            for shape in shapes:
                start = len(left)
                left.extend(max(start, start + dim - 1) for dim in range(len(shape)))
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1), left


@dataclass(frozen=True, slots=True)
class RoutingTable:
    """The policy `best` as written with a recommendation: the profile index of each listed size.

    A size that is not listed goes to the covering profile whose opt is nearest by log distance, ties to
    the lower index.
    """

    profiles: ProfileSet
    listed: Mapping[Size, int]

    def __post_init__(self) -> None:
        for size, index in self.listed.items():
            if not 0 <= index < len(self.profiles) or not self.profiles.profiles[index].covers(size):
                raise TunerError(f"routing sends {size} to profile {index}, which does not cover it")

    def route(self, sizes: NDArray[np.int64]) -> IndexArray:
        """Profile index of each row of `sizes`, -1 where no profile covers it; shape (rows,)."""
        covering = _covering(self.profiles, sizes)
        opts = np.array([profile.opt.values for profile in self.profiles])
        distance = np.abs(logarithms(opts)[:, None, :] - logarithms(sizes)[None, :, :]).sum(axis=2)
        ranked = np.where(covering, distance, np.inf)
        result = _chosen((ranked <= ranked.min(axis=0) + SAME_LOG_DISTANCE).argmax(axis=0), covering)
        known = {size.values: index for size, index in self.listed.items()}
        for row, values in enumerate(sizes.tolist()):
            result[row] = known.get(tuple(values), result[row])
        return result


def _covering(profiles: ProfileSet, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.stack([profile.covers_rows(sizes) for profile in profiles])


def _chosen(index: NDArray[np.intp], covering: NDArray[np.bool_]) -> IndexArray:
    return np.where(covering.any(axis=0), index, NOT_COVERED).astype(np.int64)
