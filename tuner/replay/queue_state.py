"""The state of a running replay as plain arrays, which compiled code and chunk boundaries share.

A lane is a model in the server: its own queue, batcher and execution contexts. All lanes share one GPU.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Int64Array = NDArray[np.int64]

# Columns of `Simulation.lane`.
CURSOR = 0  # next request to arrive
STOP = 1  # end of the requests known so far
HEAD = 2  # first request that is in no payload yet
QUEUED = 3  # batch of the requests from HEAD to CURSOR
PAYLOAD = 4  # state of the payload that the batcher fills, one of the three below
SATURATED = 5  # that payload takes no more requests
NEXT_PREFERRED = 6  # batch that wakes a waiting batcher
RING_FIRST = 7
RING_COUNT = 8
CONTEXT_FIRST = 9
CONTEXT_STOP = 10
LANE_COLUMNS = 11

EMPTY = 0
SCHEDULED = 1
STALE = 2

# Columns of a payload in `Simulation.ring` and of an execution in `Simulation.context`.
FIRST = 0
END = 1
BATCH = 2
MARKED = 3  # in the ring: never merged, since its neighbour has another shape
PAYLOAD_COLUMNS = 4
CELL = 3  # in a context: the row of the service table that is executed, or was last
LAST_BATCH = 4  # in a context: what it executed last, 0 where nothing yet; kept where changes are charged
CONTEXT_COLUMNS = 5

# Columns of `Simulation.gpu`.
NOW = 0
SETTLED = 1  # time up to which the remaining work of all contexts is reckoned
NEXT_DONE = 2
BUSY_S = 3  # time with at least one execution
IN_FLIGHT = 4
NOT_SERVED = 5  # 1 once an execution has no service time
GPU_COLUMNS = 6

# Columns of `Simulation.settings`.
KIND = 0  # 0 for fifo, 1 for triton
MAX_BATCH = 1
LARGEST_PREFERRED = 2
UNLIKE = 3  # position in UNLIKE_SHAPES
CHARGES = 4  # 0 where changes of size and profile are free
SETTINGS_COLUMNS = 5
SEPARATE, PAD, RAGGED = 0, 1, 2

# Places in `Simulation.change_s` and `Simulation.changed`.
OF_SIZE = 0
OF_PROFILE = 1


class Simulation(NamedTuple):
    """All of a replay. Requests of a lane lie next to each other, in arrival order.

    `arrival_s`, `shape`, `batch`, `start_s`, `finish_s`: shape (requests,); `shape` is a row of `coordinates`
    (shapes, axes), which place it on the ticks of each axis but the batch; `lengths` are its values. `ticks`
    has shape (axes, ticks), padded with infinity. `service_s`, `profile` (its index) and `executed` have
    shape (lanes, cells, max_batch + 1), `strides` turns coordinates into a cell. `change_s` (2,) is what
    another size and another profile cost, `changed` (2,) how often they were charged. `lane` (lanes,
    LANE_COLUMNS), `wake_s` and `slept_s` (lanes,): when the batcher's thread wakes up, and since when it
    sleeps on an empty queue; `ring` (lanes, payloads, PAYLOAD_COLUMNS), `context` (contexts,
    CONTEXT_COLUMNS), `remaining_s` (contexts,). `rates` (contexts + 1,) is the GPU's total rate by executions
    in flight. `preferred` and `next_preferred` (max_batch + 1,) say whether a batch is preferred and which
    one comes next.
    """

    arrival_s: FloatArray
    shape: Int64Array
    batch: Int64Array
    start_s: FloatArray
    finish_s: FloatArray
    coordinates: Int64Array
    lengths: FloatArray
    ticks: FloatArray
    strides: Int64Array
    service_s: NDArray[np.float64]
    profile: NDArray[np.int64]
    change_s: FloatArray
    changed: Int64Array
    executed: NDArray[np.int64]
    lane: Int64Array
    wake_s: FloatArray
    slept_s: FloatArray
    ring: NDArray[np.int64]
    context: Int64Array
    remaining_s: FloatArray
    rates: FloatArray
    gpu: FloatArray
    settings: Int64Array
    delay_s: float
    preferred: NDArray[np.bool_]
    next_preferred: Int64Array
