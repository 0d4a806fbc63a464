"""Which columns hold whole shapes of inputs, by mapping (`--shape input_ids=COLUMN`) or by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.logs.layout import Layout, Place
from tuner.logs.record_forms import WITHOUT_BATCH
from tuner.logs.synonyms import SHAPE, plain
from tuner.model import Model, TensorSpec


@dataclass(frozen=True, slots=True)
class ShapeColumn:
    """A column with the shape of one input; the axes follow by solving its dimensions."""

    tensor: TensorSpec
    name: str
    how: str

    @property
    def axes(self) -> tuple[str, ...]:
        """Axes that stand as a dimension of their own, so that the shape tells them."""
        return tuple(f.text for f in self.tensor.formulas if f.is_axis and f.text in self.tensor_axes)

    @property
    def tensor_axes(self) -> tuple[str, ...]:
        return tuple(d.text for d in self.tensor.dims if not isinstance(d, int) and d.is_axis)

    @property
    def may_lack_batch(self) -> bool:
        return self.name.startswith(WITHOUT_BATCH)

    def __str__(self) -> str:
        why = "as mapped" if self.how == "mapped" else "by its name"
        return f"the shape of {self.tensor.name} is column '{self.name}' ({why})"


def shape_columns(mapped: Mapping[str, str], model: Model | None, layout: Layout) -> tuple[ShapeColumn, ...]:
    """The shape columns of one file. TunerError for an input that the model lacks."""
    if model is None:
        return ()
    for tensor in mapped:
        model.input(tensor)
    found = []
    for spec in model.inputs:
        name = mapped.get(spec.name) or _by_name(spec.name, model, layout)
        if name is not None and name in layout:
            found.append(ShapeColumn(spec, name, "mapped" if spec.name in mapped else "name"))
    return tuple(found)


def _by_name(tensor: str, model: Model, layout: Layout) -> str | None:
    candidates = [name for name, place in layout.items() if _is_shape_of(tensor, name, place)]
    if (
        not candidates
        and sum(spec.is_dynamic for spec in model.inputs) == 1
        and model.input(tensor).is_dynamic
    ):
        shapes = {plain(name) for name in SHAPE}
        candidates = [n for n, p in layout.items() if plain(n) in shapes and p.kind in ("list", "text")]
    if len(candidates) > 1:
        raise TunerError(
            f"shape of {tensor}: the columns {' and '.join(map(repr, candidates[:3]))} are equally "
            f"good; say which with --shape {tensor}=COLUMN"
        )
    return candidates[0] if candidates else None


def _is_shape_of(tensor: str, name: str, place: Place) -> bool:
    if place.kind not in ("list", "text", "mixed"):
        return False
    if place.keys[-1] == tensor and any("shape" in key.lower() for key in place.keys[:-1]):
        return True
    return name in (f"shapes.{tensor}", f"{tensor}.shape", f"{tensor}_shape", f"inputs.{tensor}.shape")
