"""Shapes given by hand: as a document of their own, or in place of some shapes of a document."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tuner.axes import Size
from tuner.errors import TunerError, nearest_name
from tuner.model import Model, Shape, TensorSpec
from tuner.profiles.profile import OptimizationProfile, TensorRange
from tuner.recommendation.document_model import with_model
from tuner.recommendation.json_place import Place
from tuner.recommendation.profile_document import (
    DocumentProfile,
    ProfileDocument,
    TensorRanges,
    check_range,
)
from tuner.recommendation.reading_document import tensor_range

_BOUNDS = ("min", "opt", "max")


def document_of_shapes(top: Place, model: Model) -> ProfileDocument:
    """A document of one profile from plain shapes by input; every ranged input has to be there."""
    ranges = {name: tensor_range(place) for name, place in top.entries().items()}
    wanted = [t.name for t in model.inputs if t.is_dynamic or t.is_shape_tensor]
    if set(ranges) != set(wanted):
        raise TunerError(
            f"{top.file}: is no document of tuner (no schema_version) and no set of shapes for the model "
            f"{model.name}: it has {sorted(ranges)}, the model's inputs with a range are {sorted(wanted)}"
        )
    profile = _profile_of_shapes(top.file, model, ranges)
    return ProfileDocument(
        source=top.file,
        schema_version=1,
        decision="change",
        reason="shapes given by hand",
        profiles=(DocumentProfile(index=0, range=profile, tensors=ranges),),
        policy="profile_zero",
        model=model,
        model_hash=model.content_hash,
    )


def changed(document: ProfileDocument, changes: Place) -> ProfileDocument:
    """The document with some shapes replaced, `{"x": {"opt": [1, 3, 768, 768]}}`.

    Inputs that share an axis follow. Raises TunerError for a document of several profiles, an unknown
    input, and a shape outside of min and max, negative or not one of the model's.
    """
    if len(document.profiles) != 1:
        raise TunerError(
            f"{changes.file}: replaces shapes of one profile, but {document.source} has "
            f"{len(document.profiles)}; edit that file itself"
        )
    (ranges,) = document.tensor_ranges
    axes = document.profiles[0].range
    replaced = dict(ranges)
    for name, place in changes.entries().items():
        if name not in ranges:
            raise TunerError(
                f"{changes.file}: there is no input '{name}'{nearest_name(name, ranges)}; those with a "
                f"range are {sorted(ranges)}"
            )
        replaced[name] = _replaced(ranges[name], place)
    if document.model is not None:
        by_hand = {name: replaced[name] for name in changes.entries()}
        axes = _profile_of_shapes(changes.file, document.model, replaced, by_hand)
        profile = DocumentProfile(index=0, range=axes)
        return with_model(dataclasses.replace(document, profiles=(profile,), table={}), document.model)
    profile = DocumentProfile(index=0, range=axes, tensors=replaced)
    return dataclasses.replace(document, profiles=(profile,), table={})


def _replaced(range_: TensorRange, place: Place) -> TensorRange:
    unknown = sorted(set(place.entries()) - {*_BOUNDS, "values"})
    if unknown:
        raise TunerError(f"{place.file}: {place.path} has {unknown}; min, opt, max and values are accepted")
    shapes = {bound: _shape(place.optional(bound)) or getattr(range_, bound) for bound in _BOUNDS}
    carried = place.optional("values")
    values = range_.values
    if carried is not None:
        values = {b: _shape(carried.optional(b)) or (values or {}).get(b, ()) for b in _BOUNDS}
    found = TensorRange(shapes["min"], shapes["opt"], shapes["max"], values)
    check_range(found, f"{place.file}: {place.path}")
    return found


def _shape(place: Place | None) -> Shape | None:
    return tuple(item.whole() for item in place.items()) if place is not None else None


def _profile_of_shapes(
    file: str, model: Model, ranges: TensorRanges, by_hand: TensorRanges | None = None
) -> OptimizationProfile:
    """The sizes that the shapes come from; inputs that share an axis with a shape given by hand follow."""
    sizes = []
    for bound in _BOUNDS:
        values = _axis_values(file, model, ranges, bound, may_differ=by_hand is not None)
        values |= _axis_values(file, model, by_hand or {}, bound)
        missing = [axis for axis in model.axes if axis not in values]
        if missing:
            raise TunerError(
                f"{file}: the axes {missing} stand alone in no input, so they do not follow from shapes; "
                "give a document with sizes"
            )
        sizes.append(Size(model.axes, tuple(values[axis] for axis in model.axes)))
    return OptimizationProfile(*sizes)


def _axis_values(
    file: str, model: Model, ranges: TensorRanges, bound: str, *, may_differ: bool = False
) -> dict[str, int]:
    values: dict[str, int] = {}
    for name, range_ in ranges.items():
        tensor = model.input(name)
        for axis, value in _axes_of(file, tensor, range_, bound).items():
            if values.setdefault(axis, value) != value and not may_differ:
                raise TunerError(
                    f"{file}: {name}.{bound} has {axis} = {value}, another input has {values[axis]}; "
                    "inputs that share an axis have the same value there"
                )
    return values


def _axes_of(file: str, tensor: TensorSpec, range_: TensorRange, bound: str) -> Mapping[str, int]:
    shape: Shape = getattr(range_, bound)
    if len(shape) != len(tensor.dims):
        raise TunerError(
            f"{file}: {tensor.name}.{bound} is {list(shape)}; the model has {len(tensor.dims)} dimensions "
            "there"
        )
    found = {}
    for position, (dim, value) in enumerate(zip(tensor.dims, shape, strict=True)):
        if isinstance(dim, int):
            if dim != value:
                raise TunerError(
                    f"{file}: {tensor.name}.{bound} has {value} in dimension {position}; the model fixes it "
                    f"at {dim}"
                )
        elif dim.is_axis:
            found[dim.text] = value
    carried = (range_.values or {}).get(bound, ())
    for formula, value in zip(tensor.values or (), carried, strict=False):
        if formula.is_axis:
            found[formula.text] = value
    return found
