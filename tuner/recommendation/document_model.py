"""Holds a document against a model: its shapes follow from its sizes, or the place that differs is named."""

from __future__ import annotations

import dataclasses

from tuner.errors import TunerError
from tuner.model import Model
from tuner.profiles.profile import TensorRange
from tuner.recommendation.profile_document import DocumentProfile, ProfileDocument, TensorRanges


def with_model(document: ProfileDocument, model: Model) -> ProfileDocument:
    """The document with the shapes that its sizes have in this model.

    Raises TunerError where model and document have other axes, where the model cannot run a range, and
    where the document writes a shape that does not follow from its size.
    """
    if set(model.axes) != set(document.axes):
        raise TunerError(
            f"{document.source}: has the axes {list(document.axes)}, but the model {model.name} has "
            f"{list(model.axes)}; give the model that the document was made for"
        )
    profiles = tuple(_in_model(document.source, profile, model) for profile in document.profiles)
    return dataclasses.replace(document, model=model, profiles=profiles)


def _in_model(source: str, profile: DocumentProfile, model: Model) -> DocumentProfile:
    where = f"{source}: profiles[{profile.index}]"
    try:
        computed = profile.range.tensor_ranges(model)
    except TunerError as error:
        raise TunerError(f"{where}: the model {model.name} cannot run this range: {error}") from None
    if profile.tensors is not None:
        _check_same(where, profile.tensors, computed, model.name)
    return dataclasses.replace(profile, tensors=computed)


def _check_same(where: str, written: TensorRanges, computed: TensorRanges, model: str) -> None:
    if set(written) != set(computed):
        raise TunerError(
            f"{where}.tensors has the inputs {sorted(written)}, but those of the model {model} with a "
            f"range are {sorted(computed)}"
        )
    for name, range_ in computed.items():
        for bound, ours, theirs in _bounds(range_, written[name]):
            if ours != theirs:
                raise TunerError(
                    f"{where}.tensors.{name}.{bound} is {list(theirs)}, but the model {model} gives "
                    f"{list(ours)} at that size; edit both alike, or set tensors to null and it is derived"
                )


def _bounds(ours: TensorRange, theirs: TensorRange) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    found = [
        ("min", ours.min, theirs.min),
        ("opt", ours.opt, theirs.opt),
        ("max", ours.max, theirs.max),
    ]
    carried, written = ours.values or {}, theirs.values or {}
    found += [(f"values.{b}", carried.get(b, ()), written.get(b, ())) for b in ("min", "opt", "max")]
    return found
