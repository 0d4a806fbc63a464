"""Tables in long form, where one column names what another holds: their rows cannot be read together."""

from __future__ import annotations

from collections.abc import Iterable

from tuner.logs.layout import Layout
from tuner.logs.synonyms import is_named

_NAMES = ("metric", "metric_name", "measure", "variable", "field", "key")
_VALUES = ("value", "metric_value")


def long_table(layouts: Iterable[Layout]) -> tuple[str, str] | None:
    """The column of names and the column of values; None where no file has both."""
    for layout in layouts:
        names = [name for name, place in layout.items() if place.kind == "text" and is_named(name, _NAMES)]
        values = [name for name in layout if is_named(name, _VALUES) and name not in names]
        if names and values:
            return names[0], values[0]
    return None


def told_of_long_table(names: str, values: str, axis: str) -> str:
    return (
        f"'{names}' seems to say what '{values}' is in each row, and rows of all kinds are read alike; "
        f"select those of one {names} first, as in SQL: "
        f"select *, {values} as {axis} from logs where {names} = '...'"
    )
