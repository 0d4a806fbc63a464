"""Axes and sizes: what one request asks for, one whole number for each dynamic axis of the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuner.errors import TunerError

LARGEST_DIMENSION = 2**31 - 1
"""TensorRT keeps a dimension in a signed 32-bit number up to version 9."""


@dataclass(frozen=True, slots=True)
class Size:
    """One value for each axis, in a fixed axis order; zero is legal (an empty tensor)."""

    axes: tuple[str, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.axes) != len(self.values):
            raise TunerError(f"size has {len(self.values)} values for the axes {list(self.axes)}")
        if len(set(self.axes)) != len(self.axes):
            raise TunerError(f"an axis occurs twice in {list(self.axes)}")
        for axis, value in zip(self.axes, self.values, strict=True):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TunerError(f"axis {axis} is {value!r}; a size holds whole numbers")
            if not 0 <= value <= LARGEST_DIMENSION:
                raise TunerError(f"axis {axis} is {value}; 0 to {LARGEST_DIMENSION} is accepted")

    @classmethod
    def of(cls, /, **values: int) -> Size:
        return cls(tuple(values), tuple(values.values()))

    @classmethod
    def from_mapping(cls, values: Mapping[str, int], axes: Iterable[str]) -> Size:
        """The size with its axes in the given order; a missing or extra axis is an error."""
        order = tuple(axes)
        if set(values) != set(order):
            raise TunerError(f"size has the axes {sorted(values)}, but the model has {list(order)}")
        return cls(order, tuple(values[axis] for axis in order))

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read `batch=4,seq=128`."""
        values: dict[str, int] = {}
        for part in text.split(","):
            axis, equals, number = part.strip().partition("=")
            if not equals or not axis or not number.isascii() or not number.isdigit():
                raise TunerError(f"cannot read the size '{text}'; write it like 'batch=4,seq=128'")
            values[axis] = int(number)
        return cls.of(**values)

    def __getitem__(self, axis: str) -> int:
        return self.values[self.axes.index(axis)]

    def __str__(self) -> str:
        return ",".join(f"{a}={v}" for a, v in zip(self.axes, self.values, strict=True))

    @property
    def work(self) -> int:
        """Product of the axes, e.g. tokens for batch and seq."""
        return math.prod(self.values)

    @property
    def short(self) -> str:
        """`4x128`: for tables where the axis order is in the heading."""
        return "x".join(str(v) for v in self.values)

    def as_dict(self) -> dict[str, int]:
        return dict(zip(self.axes, self.values, strict=True))

    def replaced(self, axis: str, value: int) -> Size:
        return Size(
            self.axes,
            tuple(value if a == axis else v for a, v in zip(self.axes, self.values, strict=True)),
        )
