"""Dimensions that follow from axes, such as `past + seq` or `floor(seq/2 - 1/2) + 1`.

A formula comes out of a model file, so it is untrusted text: a small parser reads it, with a limit on
length and depth, and nothing is ever evaluated as Python. Arithmetic is exact (fractions), so that
`floor` and `//` are right for negative values too; the result has to be a whole number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from tuner.errors import TunerError

LONGEST_TEXT = 512
DEEPEST_NESTING = 32

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[^\W\d][\w.:\[\]]*)|(?P<sign>//|[-+*/%(),]))")

_Evaluate = Callable[[Mapping[str, int]], Fraction]


@dataclass(frozen=True, slots=True)
class Formula:
    """A dimension as text, with the axes it needs. Equality is that of the text."""

    text: str
    axes: tuple[str, ...] = field(compare=False)
    _evaluate: _Evaluate = field(compare=False, repr=False)

    @property
    def is_axis(self) -> bool:
        """True for a bare axis name, such as `seq`."""
        return self.axes == (self.text,)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The dimension for one value per axis.

        Raises TunerError when it is no whole number from zero up.
        """
        try:
            result = self._evaluate(values)
        except ZeroDivisionError:
            raise TunerError(f"dimension '{self.text}' divides by zero at {_at(values)}") from None
        if result.denominator != 1:
            raise TunerError(f"dimension '{self.text}' is {result} at {_at(values)}, not whole")
        if result < 0:
            raise TunerError(f"dimension '{self.text}' is {result} at {_at(values)}, below zero")
        return int(result)


def axis_dimension(name: str) -> Formula:
    """The dimension that is just this axis, whatever characters its name has."""
    return Formula(name, (name,), lambda values: Fraction(values[name]))


def _at(values: Mapping[str, int]) -> str:
    return ", ".join(f"{axis}={value}" for axis, value in values.items())


def parse_formula(text: str) -> Formula:
    """Read the text of a dimension.

    Raises TunerError, with the text, for anything but names, whole numbers, `+ - * / // %`,
    parentheses, `floor`, `ceil`, `min` and `max`.
    """
    if len(text) > LONGEST_TEXT:
        raise TunerError(f"dimension '{text[:40]}...' has {len(text)} characters, {LONGEST_TEXT} at most")
    parser = _Parser(text)
    evaluate = parser.expression(0)
    if parser.peek():
        raise parser.unreadable(f"'{parser.peek()}' is not expected there")
    axes = tuple(dict.fromkeys(parser.names))
    return Formula(text.strip(), axes, evaluate)


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self.tokens: list[tuple[str, str]] = []
        self.position = 0
        start, end = 0, len(text.rstrip())
        while start < end:
            found = _TOKEN.match(text, start)
            if found is None:
                raise self.unreadable(f"'{text[start:].strip()[:1]}' is no part of a formula")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found.group(kind)))
            start = found.end()

    def unreadable(self, why: str) -> TunerError:
        return TunerError(
            f"cannot read the dimension '{self.text}': {why}; accepted are axis names, whole numbers, "
            "+ - * / // %, parentheses, floor, ceil, min and max"
        )

    def peek(self) -> str:
        return self.tokens[self.position][1] if self.position < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> tuple[str, str]:
        if self.position == len(self.tokens):
            raise self.unreadable(f"it ends where {expected or 'a value'} is due")
        token = self.tokens[self.position]
        if expected is not None and token[1] != expected:
            raise self.unreadable(f"'{token[1]}' stands where '{expected}' is due")
        self.position += 1
        return token

    def expression(self, depth: int) -> _Evaluate:
        left = self.term(depth)
        while self.peek() in ("+", "-"):
            sign = self.take()[1]
            left = _combined(sign, left, self.term(depth))
        return left

    def term(self, depth: int) -> _Evaluate:
        left = self.factor(depth)
        while self.peek() in ("*", "/", "//", "%"):
            sign = self.take()[1]
            left = _combined(sign, left, self.factor(depth))
        return left

    def factor(self, depth: int) -> _Evaluate:
        if depth > DEEPEST_NESTING:
            raise self.unreadable(f"it nests deeper than {DEEPEST_NESTING}")
        kind, word = self.take()
        if word == "-":
            inner = self.factor(depth + 1)
            return lambda values: -inner(values)
        if word == "(":
            inner = self.expression(depth + 1)
            self.take(")")
            return inner
        if kind == "number":
            number = Fraction(int(word))
            return lambda values: number
        if kind == "name" and self.peek() == "(":
            return self.call(word, depth + 1)
        if kind == "name":
            self.names.append(word)
            return lambda values: Fraction(values[word])
        raise self.unreadable(f"'{word}' stands where a value is due")

    def call(self, name: str, depth: int) -> _Evaluate:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise self.unreadable(f"there is no function '{name}'")
        self.take("(")
        arguments = [self.expression(depth)]
        while self.peek() == ",":
            self.take()
            arguments.append(self.expression(depth))
        self.take(")")
        if name.lower() in ("floor", "ceil", "ceiling") and len(arguments) != 1:
            raise self.unreadable(f"{name} takes one value")
        return lambda values: function([argument(values) for argument in arguments])


_FUNCTIONS: dict[str, Callable[[list[Fraction]], Fraction]] = {
    "floor": lambda arguments: Fraction(math.floor(arguments[0])),
    "ceil": lambda arguments: Fraction(math.ceil(arguments[0])),
    "ceiling": lambda arguments: Fraction(math.ceil(arguments[0])),
    "min": min,
    "max": max,
}

_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: Fraction(left // right),
    "%": lambda left, right: left % right,
}


def _combined(sign: str, left: _Evaluate, right: _Evaluate) -> _Evaluate:
    operator = _OPERATORS[sign]
    return lambda values: operator(left(values), right(values))
