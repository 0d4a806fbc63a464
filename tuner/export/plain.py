"""Writes profiles as plain tables: CSV and Markdown, a row for each profile and input."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from tuner.export.export_set import asked_set
from tuner.export.exported import Exported, ExportOptions
from tuner.profiles.profile import OptimizationProfile, TensorRange
from tuner.recommendation.profile_document import ProfileDocument

HEADINGS = ("profile", "name", "kind", "min", "opt", "max")
Row = tuple[str, ...]


def csv_table(document: ProfileDocument, options: ExportOptions) -> Exported:
    """A row an input and profile; kind is `shape`, `values` (of a shape tensor) or `axis`."""
    rows, notes = _rows(document, options)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([HEADINGS, *rows])
    return Exported(text.getvalue(), notes)


def markdown_table(document: ProfileDocument, options: ExportOptions) -> Exported:
    rows, notes = _rows(document, options)
    lines = [HEADINGS, ("---:", "---", "---", "---:", "---:", "---:"), *map(_escaped, rows)]
    return Exported("".join(f"| {' | '.join(line)} |\n" for line in lines), notes)


def _escaped(row: Row) -> Row:
    return tuple(cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "\\n") for cell in row)


def _rows(document: ProfileDocument, options: ExportOptions) -> tuple[list[Row], tuple[str, ...]]:
    is_chosen = options.alternative is None and not options.best_single
    if is_chosen and document.profiles[0].tensors is None:
        ranges = enumerate(document.profile_set)
        return [row for i, one in ranges for row in _axis_rows(str(i), one)], ()
    found = asked_set(document, options)
    return [
        row
        for i, tensors in enumerate(found.tensors)
        for name, range_ in tensors.items()
        for row in _tensor_rows(str(i), name, range_)
    ], found.notes


def _axis_rows(index: str, range_: OptimizationProfile) -> Iterator[Row]:
    for axis in range_.axes:
        yield index, axis, "axis", *(str(size[axis]) for size in (range_.min, range_.opt, range_.max))


def _tensor_rows(index: str, name: str, range_: TensorRange) -> Iterator[Row]:
    shapes = (range_.min, range_.opt, range_.max)
    yield index, name, "shape", *("x".join(map(str, shape)) for shape in shapes)
    if range_.values is not None:
        carried = [range_.values[bound] for bound in ("min", "opt", "max")]
        yield index, name, "values", *("x".join(map(str, values)) for values in carried)
