"""Inputs as the logs alone show them: a column of shapes tells the rank, and each place is an axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tuner.errors import TunerError, nearest_name
from tuner.formula import axis_dimension
from tuner.logs.log_file import LogFile, Wanted
from tuner.logs.shapes import shape_elements
from tuner.logs.synonyms import SHAPE, plain
from tuner.model import Model, TensorSpec

_UNKNOWN_DTYPE = "unknown"
_MOST_ROWS = 10_000


def assumed_model(files: Sequence[LogFile], mapped: Mapping[str, str], *, has_axes: bool) -> Model | None:
    """A model with one input for each column of shapes; None where there is no such column.

    Columns that merely look like shapes are taken only where the logs have no other axes. The rank is the
    one that most of the first rows have; the axis at place i of input x is `x[i]`.
    """
    columns = dict(mapped) or ({} if has_axes else _shape_named(files))
    if not columns:
        return None
    present = {name for file in files for name in file.layout}
    inputs = []
    for tensor, name in columns.items():
        if name not in present:
            raise TunerError(f"--shape {tensor}={name}: no such column{nearest_name(name, present)}")
        rank = _common_rank(files, name)
        if rank is None:
            raise TunerError(
                f"--shape {tensor}={name}: no shape in the first rows; lists and texts like 8x128 are read"
            )
        dims = tuple(axis_dimension(f"{tensor}[{place}]") for place in range(rank))
        inputs.append(TensorSpec(tensor, _UNKNOWN_DTYPE, dims))
    return Model("logs", tuple(inputs))


def _shape_named(files: Sequence[LogFile]) -> dict[str, str]:
    """Inputs with the columns of their shapes: `shapes.input_ids`, else the one column like `shape`."""
    places = {name: place for file in files for name, place in file.layout.items()}
    inputs = {
        place.keys[-1]: name
        for name, place in places.items()
        if any("shape" in key.lower() for key in place.keys[:-1]) and place.kind in ("list", "text")
    }
    if inputs:
        return inputs
    names = {plain(name) for name in SHAPE}
    found = [
        name for name, place in places.items() if plain(name) in names and place.kind in ("list", "text")
    ]
    return {found[0]: found[0]} if len(found) == 1 else {}


def _common_rank(files: Sequence[LogFile], name: str) -> int | None:
    ranks: Counter[int] = Counter()
    seen = 0
    for file in files:
        for piece in file.pieces(Wanted((name,))):
            for block in piece():
                column = block.columns.get(name)
                if column is None:
                    continue
                rows = column[:_MOST_ROWS] if isinstance(column, list) else column[:_MOST_ROWS].to_pylist()
                ranks.update(len(shape) for shape in map(shape_elements, rows) if shape)
                seen += len(rows)
                if ranks and seen >= _MOST_ROWS:
                    return ranks.most_common(1)[0][0]
    return ranks.most_common(1)[0][0] if ranks else None
