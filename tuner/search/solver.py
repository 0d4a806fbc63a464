"""The weighted k-median as a mixed-integer programme for HiGHS, where enumeration ends.

Sizes are brought down to `SIZE_LIMIT` by merging those at which the profiles rank alike: the latencies of
merged sizes are summed profile by profile, which can only make a set look slower, so that no bound is known
then.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SIZE_LIMIT = 96
TIME_LIMIT_S = 60.0
RELATIVE_GAP = 1e-4


def median_by_solver(
    latency_ms: FloatArray, weights: FloatArray, count: int
) -> tuple[tuple[int, ...], float]:
    """The rows of the best `count` profiles for a mean objective, and a lower bound of any set's value in ms.

    The bound is nan where sizes were merged.
    `latency_ms` has shape (profiles, sizes), infinite where a profile does not serve. No rows come back
    where the solver found none in its time.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, eye_array, hstack, kron

    cost = _merged(latency_ms * weights)
    profiles, sizes = cost.shape
    served = np.isfinite(cost)
    # Variables: profile used (profiles), then size j served by profile i (profiles x sizes).
    objective = np.concatenate([np.zeros(profiles), np.where(served, cost, 0.0).ravel()])
    upper = np.concatenate([np.ones(profiles), served.ravel().astype(float)])
    places = profiles * sizes
    one_each = hstack([csr_array((sizes, profiles)), kron(np.ones((1, profiles)), eye_array(sizes))])
    only_used = hstack([-kron(eye_array(profiles), np.ones((sizes, 1))), eye_array(places)])
    so_many = hstack([csr_array(np.ones((1, profiles))), csr_array((1, places))])
    result = milp(
        objective,
        integrality=np.concatenate([np.ones(profiles), np.zeros(places)]),
        bounds=Bounds(np.zeros(len(upper)), upper),
        constraints=[
            LinearConstraint(one_each, 1, 1),
            LinearConstraint(only_used, -np.inf, 0),
            LinearConstraint(so_many, count, count),
        ],
        options={"time_limit": TIME_LIMIT_S, "mip_rel_gap": RELATIVE_GAP},
    )
    if result.x is None:
        return (), math.nan
    rows = tuple(int(row) for row in np.flatnonzero(result.x[:profiles] > 0.5))
    is_merged = sizes < latency_ms.shape[1]
    return rows, math.nan if is_merged or result.mip_dual_bound is None else float(result.mip_dual_bound)


def _merged(cost: FloatArray) -> FloatArray:
    """Weighted costs of at most SIZE_LIMIT sizes: the heaviest as they are, the rest in groups."""
    if cost.shape[1] <= SIZE_LIMIT:
        return cost
    heaviest = np.argsort(-cost.min(axis=0), kind="stable")
    alone, rest = heaviest[: SIZE_LIMIT // 2], heaviest[SIZE_LIMIT // 2 :]
    ranked = rest[np.lexsort(np.argsort(cost[:, rest], axis=0, kind="stable")[::-1])]
    groups = np.array_split(ranked, SIZE_LIMIT - len(alone))
    merged = [cost[:, group].sum(axis=1) for group in groups]
    return np.concatenate([cost[:, alone], np.stack(merged, axis=1)], axis=1)
