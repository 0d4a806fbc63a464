"""The columns of one file by dotted name (`request.shape.input_ids`), and how to take one out of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Keys = tuple[str, ...]

Layout = Mapping[str, "Place"]
"""Every column by its dotted name; columns inside structs or JSON objects included."""


DEEPEST_STRUCT = 16


@dataclass(frozen=True, slots=True)
class Place:
    """Where a column lies and what it holds: `number`, `text`, `time`, `list`, `null`, `mixed` or `other`.

    `share` is the part of the first rows that have it; less than 1 only in JSON.
    """

    keys: Keys
    kind: str
    share: float = 1.0


def layout_of_schema(schema: pa.Schema) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for field in schema:
        _add_type(found, (field.name,), field.type)
    return found


def _add_type(found: dict[str, Place], keys: Keys, kind: pa.DataType) -> None:
    if pa.types.is_struct(kind) and len(keys) < DEEPEST_STRUCT:
        for i in range(kind.num_fields):
            child = kind.field(i)
            _add_type(found, (*keys, child.name), child.type)
        return
    found.setdefault(".".join(keys), Place(keys, _kind_of_type(kind)))


def _kind_of_type(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_temporal(kind):
        return "time"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list"
    if types.is_null(kind):
        return "null"
    return "other" if types.is_boolean(kind) or types.is_map(kind) else "text"


def layout_of_objects(objects: Iterable[Any]) -> dict[str, Place]:
    """The columns that some JSON objects have together; a kind seen beats null."""
    found: dict[str, Place] = {}
    times_seen: Counter[str] = Counter()
    object_count = 0
    for value in objects:
        if isinstance(value, dict):
            object_count += 1
            times_seen.update(_add_object(found, (), value))
    return {name: replace(place, share=times_seen[name] / object_count) for name, place in found.items()}


def _add_object(found: dict[str, Place], keys: Keys, value: dict[str, Any]) -> list[str]:
    """Add the columns of one object; their names."""
    names: list[str] = []
    for key, inner in value.items():
        path = (*keys, key)
        if isinstance(inner, dict) and len(path) < DEEPEST_STRUCT:
            names += _add_object(found, path, inner)
            continue
        name, kind = ".".join(path), _kind_of_object(inner)
        known = found.get(name)
        if known is None or known.kind == "null":
            found[name] = Place(path, kind)
        elif known.kind != kind and kind != "null":
            found[name] = Place(path, "mixed")
        names.append(name)
    return names


def _kind_of_object(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "other"
    for kind, types in (("number", (int, float)), ("text", (str,)), ("list", (list,))):
        if isinstance(value, types):
            return kind
    return "other"


def take_column(table: Any, keys: Sequence[str]) -> pa.Array:
    """A column of a record batch, through structs; null where a struct on the way is null."""
    column = table.column(keys[0])
    for key in keys[1:]:
        column = pc.struct_field(column, key)
    return column


def take_value(row: Any, keys: Sequence[str]) -> Any:
    """A value of a JSON object, None where any key on the way is missing."""
    for key in keys:
        if not isinstance(row, dict):
            return None
        row = row.get(key)
    return row
