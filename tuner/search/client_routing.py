"""A model with an engine of its own for each profile, and a client that sends each size to one of them.

Sizes that are sent apart wait and are batched apart: short requests are then not padded to long ones, but
batches are smaller.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.replay.queueing import Service
from tuner.search.executed_sets import ProfileCells
from tuner.traffic.arrivals import Arrivals


def lanes_of(
    cells: ProfileCells, rows: Sequence[int], executed: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Place in `rows` of the profile that serves each size (sizes, axes), shape (sizes,).

    A size goes where its batches cost least, for batches as `executed` (cells, max_batch + 1) has them over
    all sizes: a client knows neither the queue nor what else will be in the batch.
    """
    latency = cells.latency_ms[list(rows)]
    weights = executed.sum(axis=0).astype(np.float64)
    cost = np.where(np.isfinite(latency), latency, np.inf)[:, :, 1:] @ np.maximum(weights[1:], 1e-12)
    columns = [cells.sizes.axes.index(axis) for axis in cells.sizes.other_axes]
    own = cells.sizes.places(sizes[:, columns]) @ cells.sizes.strides
    return np.asarray(cost[:, own].argmin(axis=0), dtype=np.int64)


def split_service(
    cells: ProfileCells, rows: Sequence[int], executed: NDArray[np.int64], arrivals: Arrivals
) -> Service:
    """Service times of a lane for each profile, with the lane of every size that arrives.

    The contexts of a lane never change their profile, but change sizes.
    """
    lanes = np.zeros(len(arrivals.sizes), dtype=np.int64)
    occurring = arrivals.occurring
    lanes[occurring] = lanes_of(cells, rows, executed, arrivals.sizes[occurring])
    return Service(cells.sizes, cells.latency_ms[list(rows)], lanes, changes=cells.changes)


def is_split(service: Service, arrivals: Arrivals) -> bool:
    """Whether more than one lane gets requests."""
    assert service.lane_of_size is not None
    return len(np.unique(service.lane_of_size[arrivals.occurring])) > 1
