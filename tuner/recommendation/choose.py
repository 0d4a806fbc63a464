"""Chooses among the best sets of each size, and gives the chosen profiles their final ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import NothingFeasible
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.search.compose import ComposedSet

LEAST_GAIN_OF_A_PROFILE = 0.01
"""What one more profile has to gain; less than the spread between builds of one profile is not worth it."""


def choose_count(sets: Sequence[ComposedSet], max_profiles: int, *, exactly: int | None) -> ComposedSet:
    """The set to recommend: exactly so many profiles, or the fewest that come near the best.

    A set with more profiles wins only if it is better by `LEAST_GAIN_OF_A_PROFILE` than the set chosen so
    far.
    """
    by_count = {len(composed.rows): composed for composed in sets}
    if exactly is not None:
        if exactly not in by_count:
            raise NothingFeasible(
                f"no set of exactly {exactly} profiles serves all traffic; sets of "
                f"{sorted(by_count)} profiles do, ask for one of them with --profiles"
            )
        return by_count[exactly]
    allowed = sorted(count for count in by_count if count <= max_profiles)
    if not allowed:
        raise NothingFeasible(f"no set of up to {max_profiles} measured profiles serves all traffic")
    chosen = by_count[allowed[0]]
    for count in allowed[1:]:
        if by_count[count].value < chosen.value * (1 - LEAST_GAIN_OF_A_PROFILE):
            chosen = by_count[count]
    return chosen


def final_ranges(
    profiles: Sequence[OptimizationProfile],
    sizes: NDArray[np.int64],
    served_by: NDArray[np.int64],
    whole: tuple[Size, Size],
) -> ProfileSet:
    """The profiles with min and max shrunk to the sizes routed to them, in the given order.

    `sizes` has shape (sizes, axes), `served_by` names the profile of each, shape (sizes,). The profile that
    serves the largest size keeps the whole range, so that sizes which the log lacks are covered too; it
    reaches that far anyway, and the device memory of a set is that of its largest profile.
    """
    largest = int(served_by[sizes.astype(np.float64).prod(axis=1).argmax()])
    shrunk = []
    for index, profile in enumerate(profiles):
        own = sizes[served_by == index]
        low, high = (own.min(axis=0), own.max(axis=0)) if len(own) else (profile.opt.values,) * 2
        if index == largest:
            low, high = whole[0].values, whole[1].values
        shrunk.append(_around(profile.opt, low, high))
    return ProfileSet(tuple(shrunk))


def _around(opt: Size, low: Sequence[int], high: Sequence[int]) -> OptimizationProfile:
    bounds = zip(opt.values, low, high, strict=True)
    pairs = [(min(o, int(a)), max(o, int(b))) for o, a, b in bounds]
    return OptimizationProfile(
        Size(opt.axes, tuple(a for a, _ in pairs)), opt, Size(opt.axes, tuple(b for _, b in pairs))
    )
