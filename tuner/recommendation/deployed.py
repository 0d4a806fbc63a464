"""The deployed document as a run sees it: its set, its routing, and what is known of when it was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.measurement import Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile, ProfileSource
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import (
    RoutingTable,
    route_first_fit,
    route_nearest_opt,
    route_profile_zero,
)
from tuner.recommendation.evaluate import Router
from tuner.recommendation.gain import Served
from tuner.recommendation.json_place import Place, read_json
from tuner.recommendation.night import LastSearch, read_cells
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import document_at, upgraded
from tuner.replay.score import Judge, latency_table
from tuner.traffic.shift import Cells


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Deployed:
    """A document in production. `last_search` and `recent` are None where the document has none.

    `evidence` holds the document's facts (GPU, TensorRT, precision, ...), empty for a profile by rule.
    """

    document: ProfileDocument
    profiles: ProfileSet
    last_search: LastSearch | None
    recent: Cells | None
    evidence: Mapping[str, Any]

    @property
    def routing(self) -> RoutingTable:
        """The table as written; sizes that are not listed go to the nearest opt."""
        axes = self.profiles.axes
        listed = {Size.from_mapping(size.as_dict(), axes): i for size, i in self.document.table.items()}
        return RoutingTable(self.profiles, listed)

    def router(self, model: Model | None) -> Router:
        """How the document says that sizes find their profile."""
        policy, profiles = self.document.policy, self.profiles
        if policy == "best":
            return self.routing.route
        if policy == "nearest_opt" and model is not None:
            return lambda sizes: route_nearest_opt(profiles, sizes, model)
        if policy in _ROUTERS:
            return lambda sizes: _ROUTERS[policy](profiles, sizes)
        raise TunerError(
            f"{self.document.source}: its routing policy '{policy}' cannot be replayed; accepted are best, "
            "nearest_opt (with a model), first_fit and profile_zero"
        )


_ROUTERS = {"first_fit": route_first_fit, "profile_zero": route_profile_zero}


def read_deployed(path: str | Path, axes: tuple[str, ...] | None = None) -> Deployed:
    """Read a document; its axes are put in the given order.

    Raises TunerError for what is no valid document and for other axes.
    """
    return deployed_of(read_json(path), axes)


def deployed_of(place: Place, axes: tuple[str, ...] | None = None) -> Deployed:
    top = upgraded(place)
    document = document_at(top)
    order = axes or document.axes
    if set(order) != set(document.axes):
        raise TunerError(
            f"{document.source}: profiles have the axes {list(document.axes)}, the traffic {list(order)}; "
            "map the log's columns with --axis, or give the document of this model"
        )
    searched, recent = top.optional("last_search"), top.optional("recent")
    evidence = top.key("evidence").value
    return Deployed(
        document=document,
        profiles=_ordered(document.profile_set, order),
        last_search=LastSearch.read(searched) if searched else None,
        recent=read_cells(recent) if recent else None,
        evidence=evidence if isinstance(evidence, dict) else {},
    )


def _ordered(profiles: ProfileSet, axes: tuple[str, ...]) -> ProfileSet:
    def size(of: Size) -> Size:
        return Size.from_mapping(of.as_dict(), axes)

    return ProfileSet(tuple(OptimizationProfile(size(p.min), size(p.opt), size(p.max)) for p in profiles))


def same_opts(one: ProfileSet, other: ProfileSet) -> bool:
    """True for sets with the same opts: ranges follow each night's traffic and cost next to nothing."""
    return {p.opt for p in one} == {p.opt for p in other}


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """The measured curve of each profile of a set, in order."""

    measured: tuple[MeasuredProfile, ...]
    mode: Mode

    @property
    def contended_share(self) -> float:
        """Share of the measurements that other processes on the GPU disturbed."""
        return max((one.contended_share for one in self.measured), default=0.0)

    def served(self, profiles: ProfileSet, judge: Judge, router: Router) -> Served | None:
        """How the set serves the judge's sizes; None where it leaves one out or has no time for it."""
        table = latency_table([one.curve(self.mode) for one in self.measured], judge.histogram)
        index = router(judge.histogram.sizes)
        latency = table.latency_ms[index, np.arange(len(index))]
        if (index < 0).any() or not np.isfinite(latency).all():
            return None
        return Served(latency, tuple(p.opt for p in profiles), index)


def curves_of(
    profiles: ProfileSet, source: ProfileSource, sizes: NDArray[np.int64], mode: Mode
) -> Curves | str:
    """The curves of a set's profiles, or why they cannot be had."""
    outcomes = [source.measure(profile, sizes) for profile in profiles]
    for outcome in outcomes:
        if isinstance(outcome, FailedProfile):
            return outcome.reason
    return Curves(tuple(one for one in outcomes if isinstance(one, MeasuredProfile)), mode)
