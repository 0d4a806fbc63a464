"""A source of curves whose engines are built and timed on a cluster, several at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.cluster.candidates import ProfileWish, SetWish
from tuner.cluster.crew import Crew
from tuner.errors import EngineError
from tuner.measurements.built_source import BuiltSource
from tuner.measurements.source import FailedProfile, MeasuredProfile, SourceFacts, Stop
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet


class RaySource:
    """Decides as a source on one machine does, over the same store; only the work is done elsewhere."""

    def __init__(self, here: BuiltSource, crew: Crew) -> None:
        self._here = here
        self._crew = crew

    @property
    def model(self) -> Model:
        return self._here.model

    @property
    def facts(self) -> SourceFacts:
        return self._here.facts

    def candidates(self) -> Sequence[OptimizationProfile] | None:
        return self._here.candidates()

    def start(self, profile: OptimizationProfile) -> None:
        """Have a profile built that will be asked for."""
        if not self._here.knows(profile):
            self._crew.start(ProfileWish(profile))

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        """The profile's curve, or the outcome of its task."""
        try:
            return self._crew.answer(lambda: self._here.measure(profile, sizes, stop), ProfileWish(profile))
        except EngineError as error:
            return FailedProfile(profile=profile, kind=error.kind, reason=str(error))

    def confirm(self, profiles: ProfileSet, count: int = 1) -> list[MeasuredProfile]:
        """The set built as one engine on one of the nodes; EngineError where that fails."""
        return self._crew.answer(lambda: self._here.confirm(profiles, count), SetWish(profiles, count))
