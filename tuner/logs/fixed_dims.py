"""Columns whose values a model fixes: a log of 256x256 images cannot run on a model made for 224x224."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.logs.layout import Layout
from tuner.logs.synonyms import HEIGHT, WIDTH, plain
from tuner.model import Model, TensorSpec

_CHANNEL_COUNTS = (1, 3, 4)


@dataclass(frozen=True, slots=True)
class FixedColumn:
    """A column and the one value that the model runs."""

    name: str
    value: int
    tensor: str

    def __str__(self) -> str:
        return f"{self.tensor} is fixed at {self.value} where logs have '{self.name}'; no other value can run"


def fixed_columns(model: Model | None, layout: Layout) -> tuple[FixedColumn, ...]:
    """Image sizes in the log that an input fixes. The batch is left alone: a server splits it."""
    if model is None:
        return ()
    found = []
    for spec in model.inputs:
        for names, place in _image_places(spec):
            dim = spec.dims[place]
            column = next((name for name in layout if plain(name) in {plain(n) for n in names}), None)
            if isinstance(dim, int) and column is not None and column not in model.axes:
                found.append(FixedColumn(column, dim, spec.name))
    return tuple(found)


def _image_places(spec: TensorSpec) -> tuple[tuple[tuple[str, ...], int], ...]:
    if len(spec.dims) != 4:
        return ()
    if spec.dims[1] in _CHANNEL_COUNTS:
        return ((HEIGHT, 2), (WIDTH, 3))
    return ((HEIGHT, 1), (WIDTH, 2)) if spec.dims[3] in _CHANNEL_COUNTS else ()
