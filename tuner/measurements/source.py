"""The seam between the search and whatever measures profiles: recorded files, stores, a real GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tuner.engines.spec import Environment
from tuner.errors import TunerError
from tuner.measurements.cache_saving import CacheSaving
from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredProfile:
    """A profile that was built and timed.

    `curves` has one curve for each mode that was timed. `engine_keys` name the builds behind it; the other
    fields are medians over those builds, None where nothing is known. `contended_share` is the share of the
    measurements that other processes on the GPU disturbed.
    """

    profile: OptimizationProfile
    curves: Mapping[Mode, Curve]
    engine_keys: tuple[str, ...]
    build_s: float | None = None
    plan_bytes: int | None = None
    device_memory_bytes: int | None = None
    contended_share: float = 0.0

    def curve(self, mode: Mode) -> Curve:
        if mode not in self.curves:
            raise TunerError(
                f"profile {self.profile} was timed in the modes {[m.value for m in self.curves]}, "
                f"not in '{mode}'; choose one of them with --mode"
            )
        return self.curves[mode]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedProfile:
    """A profile that gave no curve: the kind of outcome and a reason that a person can act on."""

    profile: OptimizationProfile
    kind: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Where the curves of a source come from; goes into every document. None is a fact not known.

    `origin` is `recorded` or `measured`, `measured_on` the last date (ISO) of its measurements.
    `interpolation_error` is the worst profile's mean relative error, weighted by traffic, at sizes that were
    timed to check it.
    `switch_ms` is what it costs to serve a request with another profile than the one before it,
    `size_change_ms` with another size under the same profile.
    `workspace_bytes` is the largest workspace limit that a build needed, None for TensorRT's own.
    """

    origin: str
    environment: Environment
    precision: str
    builder_options: str
    measured_on: str | None
    build_count: int
    measurement_count: int
    interpolation_error: float | None = None
    switch_ms: float | None = None
    size_change_ms: float | None = None
    workspace_bytes: int | None = None
    cache_saving: CacheSaving | None = None


Stop = Callable[[Curve], str | None]
"""Looks at a curve that is timed in part, heaviest sizes first; a reason says that the rest is not needed."""

PRUNED = "pruned"
"""The kind of a FailedProfile whose timing was stopped."""


class ProfileSource(Protocol):
    """Gives the curve of a profile."""

    @property
    def model(self) -> Model:
        """The model whose engines are measured."""

    @property
    def facts(self) -> SourceFacts:
        """What the curves given so far rest on."""

    def candidates(self) -> Sequence[OptimizationProfile] | None:
        """The profiles that can be had, or None where any profile can be built."""

    def start(self, profile: OptimizationProfile) -> None:
        """Begin with a profile that will be asked for, where several can be measured at once."""

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        """The profile's curve with at least these sizes (rows, axes) that it covers, if they can be had.

        Where sizes still have to be timed, `stop` is asked in between; the profile is then a failure of kind
        `pruned` with the reason it gave.
        """
