"""The curves in a store that a document rests on: same model, GPU, TensorRT and builder options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.errors import TunerError
from tuner.measurements.flat_parquet import RecordedEngine
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.source import MeasuredProfile
from tuner.measurements.store import Store, same_hash
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.profiles.routing import route_best

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KnownCurves:
    """Every profile that was measured in the document's environment, and the mode that it was judged by."""

    source: RecordedSource
    mode: Mode

    def measured(self, profile: OptimizationProfile) -> MeasuredProfile | None:
        """The measured profile that stands for this one: same opt, range around its own."""
        found = self.source.measure(profile, np.array([profile.opt.values], dtype=np.int64))
        return found if isinstance(found, MeasuredProfile) and self.mode in found.curves else None

    def all_measured(self) -> list[MeasuredProfile]:
        found = (self.measured(profile) for profile in self.source.candidates())
        return [one for one in found if one is not None]

    def grid(self) -> NDArray[np.int64]:
        """All sizes that were timed, each once; shape (sizes, axes)."""
        return np.unique(np.concatenate([m.curve(self.mode).sizes for m in self.all_measured()]), axis=0)

    def best(self, sizes: NDArray[np.int64]) -> FloatArray:
        """The least latency in ms that any measured profile has at each size, NaN where none has one."""
        every = np.stack([m.curve(self.mode).latencies(sizes)[0] for m in self.all_measured()])
        least = np.where(np.isfinite(every), every, np.inf).min(axis=0)
        return np.where(np.isfinite(least), least, np.nan)

    def served(self, profiles: ProfileSet, sizes: NDArray[np.int64]) -> FloatArray | None:
        """Latency in ms of each size in its best profile of the set, NaN where none covers it.

        None where the curve of one of the profiles is not known.
        """
        measured = [self.measured(profile) for profile in profiles]
        curves = [m.curve(self.mode) for m in measured if m is not None]
        if len(curves) < len(measured):
            return None
        every = np.stack([curve.latencies(sizes)[0] for curve in curves])
        index = route_best(profiles, sizes, every)
        return np.where(index >= 0, every[index, np.arange(len(sizes))], np.nan)


def curves_in_store(store: Store, document: Mapping[str, Any]) -> KnownCurves | None:
    """The curves behind the document, None where the store has none of them."""
    evidence = document["evidence"]
    if not isinstance(evidence, Mapping) or not evidence.get("model_hash"):
        return None
    model = next((m for m in store.models() if same_hash(m.content_hash or "", evidence["model_hash"])), None)
    if model is None or model.axes != tuple(document["traffic"]["histogram"]["axes"]):
        return None
    engines = [
        RecordedEngine(engine, tuple(store.measurements(engine.spec.key, engine.repeat)))
        for engine in store.engines(model.content_hash)
        if _made_alike(engine.spec, evidence)
    ]
    try:
        return KnownCurves(RecordedSource(model, engines), Mode(evidence["mode"]))
    except TunerError:
        return None  # no engine of a single profile: there is no curve to show


def _made_alike(spec: Any, evidence: Mapping[str, Any]) -> bool:
    environment = ("gpu", "driver", "cuda", "tensorrt", "flavour", "clock_policy")
    return all(getattr(spec.environment, name) == evidence.get(name) for name in environment) and all(
        getattr(spec, name) == evidence.get(name) for name in ("precision", "builder_options")
    )
