"""Chooses among contenders by what they gain past noise, and gives profiles their final ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import NothingFeasible
from tuner.measurements.source import MeasuredProfile
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import RoutingTable
from tuner.recommendation.gain import Gain, Served
from tuner.recommendation.recommendation import Evaluated
from tuner.search.compose import ComposedSet

LEAST_GAIN = 0.01
"""What a set with more profiles, or another kind of set, has to gain besides being past noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A set that may be recommended, with its final ranges and how it serves the traffic that decides."""

    name: str
    rows: tuple[int, ...]
    measured: tuple[MeasuredProfile, ...]
    evaluated: Evaluated
    routing: RoutingTable
    served: Served

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Choice:
    """The contender to recommend, and in a sentence each why not the others."""

    chosen: Contender
    reasons: tuple[str, ...]


def allowed_counts(sets: Sequence[ComposedSet], max_profiles: int, *, exactly: int | None) -> list[int]:
    """Numbers of profiles that may be recommended: those that serve everything and keep every limit.

    Raises NothingFeasible where there is none.
    """
    serving = {len(s.rows): s for s in sets}
    keeping = sorted(count for count, s in serving.items() if s.overrun <= 0)
    if exactly is not None and exactly not in serving:
        raise NothingFeasible(
            f"no set of exactly {exactly} profiles serves all traffic; sets of "
            f"{sorted(serving)} profiles do, ask for one of them with --profiles"
        )
    wanted = [c for c in keeping if (c == exactly if exactly is not None else c <= max_profiles)]
    if wanted:
        return wanted
    within = [s for c, s in serving.items() if (c == exactly if exactly is not None else c <= max_profiles)]
    if not within:
        raise NothingFeasible(f"no set of up to {max_profiles} measured profiles serves all traffic")
    nearest = min(within, key=lambda s: s.overrun)
    raise NothingFeasible(
        f"no measured set keeps every --slo: the nearest one, of {len(nearest.rows)} profiles, is "
        f"{nearest.overrun:.1%} over its worst limit; allow more with --slo, or measure more with --builds"
    )


def choose(
    by_count: Mapping[int, Contender],
    others: Sequence[Contender],
    gain_of: Callable[[Contender, Contender], Gain],
) -> Choice:
    """The set with the fewest profiles, unless a larger one or one of another kind is better past noise.

    `gain_of(old, new)` is the gain of the new one on the traffic that decides.
    """
    counts = sorted(by_count)
    chosen = by_count[counts[0]]
    reasons = []
    for rival in (*(by_count[count] for count in counts[1:]), *others):
        if rival.rows == chosen.rows:
            continue
        gain = gain_of(chosen, rival)
        if gain.value >= LEAST_GAIN and gain.low > 0:
            reasons.append(f"{rival.name} gains {gain} over {chosen.name}")
            chosen = rival
        elif gain.value <= 0:
            reasons.append(f"{rival.name} is no better than {chosen.name}: it gains {gain}")
        else:
            why = "no more than noise" if gain.low <= 0 else f"less than {LEAST_GAIN:.0%}"
            reasons.append(f"{rival.name} gains {gain} over {chosen.name}: {why}")
    return Choice(chosen, tuple(reasons))


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
