"""What a report holds before anything is drawn: sections of sentences, tables and charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from tuner.errors import TunerError

Json = Mapping[str, Any]
Cell = str | float | int | None
Kind = Literal["text", "number", "share", "gain"]
Columns = dict[str, tuple[Kind, Sequence[Cell]]]
"""Columns of a table: heading to kind and values."""

UNKNOWN = "-"
"""Shown where a fact is not known."""
SIGNIFICANT_DIGITS = 4
_SHARE_DIGITS = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; `digits` are decimals, shown as a percentage for a share or a gain."""

    heading: str
    kind: Kind = "text"
    digits: int = 0

    def text(self, value: Cell) -> str:
        """The value as shown; the page's script formats in the same way."""
        if value is None:
            return UNKNOWN
        if isinstance(value, str):
            return value
        if self.kind == "share":
            return f"{_fixed(100 * value, self.digits)} %"
        if self.kind == "gain":
            return f"{'+' if value >= 0 else ''}{_fixed(100 * value, self.digits)} %"
        return _fixed(value, self.digits)


def _fixed(value: float, digits: int) -> str:
    """Halves go away from zero, as in JavaScript's `toFixed`; adding zero takes the sign off minus zero."""
    return f"{Decimal(value + 0.0).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"


def number_column(heading: str, values: Iterable[Cell]) -> Column:
    """A column of numbers with as many decimals as show the largest of them to four digits."""
    numbers = [abs(v) for v in values if isinstance(v, int | float) and v]
    if all(isinstance(v, int) for v in numbers):
        return Column(heading, "number", 0)
    magnitude = math.floor(math.log10(max(numbers))) if numbers else 0
    return Column(heading, "number", min(9, max(0, SIGNIFICANT_DIGITS - 1 - magnitude)))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of raw values under columns; `name` is that of its CSV file, `note` a sentence below it."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise TunerError(f"table {self.name}: a row has {len(row)} cells for {len(self.columns)}")

    def texts(self) -> list[list[str]]:
        return [[c.text(v) for c, v in zip(self.columns, row, strict=True)] for row in self.rows]


def table(name: str, title: str, columns: Columns, note: str = "") -> Table:
    """A table from its columns: heading to kind and values; decimals follow from the values."""
    headings = tuple(_column(heading, kind, values) for heading, (kind, values) in columns.items())
    return Table(name, title, headings, tuple(zip(*(v for _, v in columns.values()), strict=True)), note)


def _column(heading: str, kind: Kind, values: Sequence[Cell]) -> Column:
    if kind == "number":
        return number_column(heading, values)
    return Column(heading, kind, 0 if kind == "text" else _SHARE_DIGITS)


@dataclass(frozen=True, slots=True)
class Chart:
    """A Plotly figure as plain JSON values; its table holds the same numbers.

    `title` says what to see, `height` is in CSS pixels.
    """

    title: str
    data: tuple[Json, ...]
    layout: Json
    table: Table
    height: int = 360


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report; `sentences` come first, then charts and tables in their order."""

    name: str
    title: str
    sentences: tuple[str, ...]
    parts: tuple[Chart | Table, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The whole report. `decision` is one sentence with its number; `facts` name the evidence."""

    title: str
    decision: str
    reason: str
    facts: tuple[tuple[str, str], ...]
    caveats: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def milliseconds(value: float) -> str:
    return f"{value:.4g} ms"
