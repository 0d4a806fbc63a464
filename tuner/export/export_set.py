"""Which set of profiles an export is of: the chosen one, an alternative, or the best single profile."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.export.exported import ExportOptions
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.recommendation.profile_document import ProfileDocument, TensorRanges


@dataclass(frozen=True, slots=True)
class ExportSet:
    """Profiles in order, each in axes and in shapes by input tensor, with what to know about the choice."""

    ranges: tuple[OptimizationProfile, ...]
    tensors: tuple[TensorRanges, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ranges)


def asked_set(document: ProfileDocument, options: ExportOptions) -> ExportSet:
    """What was asked for: the chosen set where nothing was."""
    if options.best_single:
        return best_single(document)
    if options.alternative is not None:
        return alternative(document, options.alternative)
    return chosen_set(document)


def chosen_set(document: ProfileDocument) -> ExportSet:
    return ExportSet(tuple(p.range for p in document.profiles), document.tensor_ranges)


def alternative(document: ProfileDocument, policy: str) -> ExportSet:
    """The best set under another routing policy; TunerError where the document has none."""
    if policy not in document.alternatives:
        known = ", ".join(document.alternatives) or "none at all"
        raise TunerError(
            f"{document.source}: has no best set under the routing {policy}; it has {known}. Recommend "
            "again, with fewer profiles if need be"
        )
    return _in_shapes(document, document.alternatives[policy])


def best_single(document: ProfileDocument) -> ExportSet:
    """The best profile for a consumer that uses profile 0 only."""
    if len(document.profiles) == 1:
        return chosen_set(document)
    if "profile_zero" not in document.alternatives:
        raise TunerError(
            f"{document.source}: has {len(document.profiles)} profiles and no best single one "
            "(alternatives.profile_zero); recommend with --profiles 1"
        )
    found = ProfileSet(document.alternatives["profile_zero"].profiles[:1])
    note = (
        f"this is the best single profile, {found}, in place of the document's "
        f"{len(document.profiles)}; build the engine from it"
    )
    several = _in_shapes(document, found)
    return ExportSet(several.ranges, several.tensors, (note,))


def _in_shapes(document: ProfileDocument, profiles: ProfileSet) -> ExportSet:
    if document.model is None:
        raise TunerError(
            f"{document.source}: does not describe the model, so the shapes of another set are not known; "
            "give the model with --model FILE.onnx"
        )
    ranges = tuple(profiles)
    return ExportSet(ranges, tuple(one.tensor_ranges(document.model) for one in ranges))


NO_RANGES = "the model leaves no dimension open, so it needs no profile and there is nothing to set"


def has_ranges(found: ExportSet) -> bool:
    """False for a model without an open dimension: no flags may be given for it then."""
    return bool(found.tensors[0])


def bound_of(tensors: TensorRanges, bound: str) -> dict[str, tuple[int, ...]]:
    """What a consumer is given for `min`, `opt` or `max`: an input's shape, of a shape tensor its values."""
    found = {}
    for name, range_ in tensors.items():
        shape: tuple[int, ...] = getattr(range_, bound)
        found[name] = shape if range_.values is None else range_.values[bound]
    return found
