"""Where an axis' value comes from: a column, an element of a list column, a scaled column, a fixed number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tuner.errors import TunerError
from tuner.logs.layout import Layout

_SCALED = re.compile(r"(?P<name>.+?)\s*(?P<sign>[/*])\s*(?P<number>\d+(\.\d+)?)")
_ELEMENT = re.compile(r"(?P<name>.+)\[(?P<place>\d+)\]")


@dataclass(frozen=True, slots=True)
class AxisColumn:
    """`how` says why this column: `mapped`, `exact` or `synonym`. A fixed value has no column.

    A value is divided by `divisor` and rounded up; `element` picks one of a list, from 0.
    """

    axis: str
    name: str | None
    element: int | None = None
    divisor: Fraction = Fraction(1)
    fixed: int | None = None
    how: str = "mapped"

    def __str__(self) -> str:
        if self.fixed is not None:
            return f"{self.axis} is fixed at {self.fixed}"
        element = "" if self.element is None else f"[{self.element}]"
        scale = "" if self.divisor == 1 else f", divided by {self.divisor} and rounded up"
        why = {"mapped": "as mapped", "exact": "its own name", "synonym": "a known name for it"}[self.how]
        return f"{self.axis} is column '{self.name}{element}' ({why}){scale}"


def parse_axis(axis: str, text: str, layout: Layout) -> AxisColumn:
    """Read the right side of `--axis seq=bytes/4`; a column that has exactly this name goes first.

    The column need not exist in this file. Raises TunerError for a scale of zero and a negative number.
    """
    text = text.strip()
    if text in layout:
        return AxisColumn(axis, text)
    if re.fullmatch(r"[+-]?\d+", text):
        return _fixed(axis, text)
    divisor = Fraction(1)
    scaled = _SCALED.fullmatch(text)
    if scaled is not None:
        number = Fraction(scaled["number"])
        if not number:
            raise TunerError(
                f"--axis {axis}={text}: a scale of 0 makes no size; write it like {axis}=bytes/4"
            )
        divisor = number if scaled["sign"] == "/" else 1 / number
        text = scaled["name"]
    element = _ELEMENT.fullmatch(text) if text not in layout else None
    if element is not None:
        return AxisColumn(axis, element["name"], int(element["place"]), divisor)
    return AxisColumn(axis, text, None, divisor)


def _fixed(axis: str, text: str) -> AxisColumn:
    value = int(text)
    if not 0 <= value < 2**31:
        raise TunerError(f"--axis {axis}={text}: a fixed value is a whole number from 0 to {2**31 - 1}")
    return AxisColumn(axis, None, fixed=value)
