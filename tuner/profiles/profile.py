"""Optimization profiles and sets of them: valid from birth, in axes and in tensor shapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.model import Model, Shape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class TensorRange:
    """Min, opt and max shape of one input tensor; for a shape tensor those of its values too."""

    min: Shape
    opt: Shape
    max: Shape
    values: Mapping[str, Shape] | None = None


@dataclass(frozen=True, slots=True)
class OptimizationProfile:
    """Min, opt and max size with min <= opt <= max on every axis."""

    min: Size
    opt: Size
    max: Size

    def __post_init__(self) -> None:
        if not self.min.axes == self.opt.axes == self.max.axes:
            raise TunerError(
                f"profile mixes the axes {list(self.min.axes)}, {list(self.opt.axes)}, {list(self.max.axes)}"
            )
        for axis in self.axes:
            if not self.min[axis] <= self.opt[axis] <= self.max[axis]:
                raise TunerError(
                    f"profile breaks min <= opt <= max on axis {axis}: "
                    f"{self.min[axis]}, {self.opt[axis]}, {self.max[axis]}"
                )

    @property
    def axes(self) -> tuple[str, ...]:
        return self.min.axes

    def __str__(self) -> str:
        return f"{self.min.short}..{self.opt.short}..{self.max.short}"

    def covers(self, size: Size) -> bool:
        return all(
            low <= value <= high
            for low, value, high in zip(self.min.values, size.values, self.max.values, strict=True)
        )

    def covers_rows(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of an array of shape (sizes, axes) lie inside the range; shape (sizes,)."""
        import numpy as np  # here, so that `tuner.load` in a server needs no numpy

        low, high = np.array(self.min.values), np.array(self.max.values)
        return np.asarray(((sizes >= low) & (sizes <= high)).all(axis=1))

    def contains(self, other: OptimizationProfile) -> bool:
        """True where the other profile's whole range lies inside this one's."""
        return self.covers(other.min) and self.covers(other.max)

    def tensor_ranges(self, model: Model) -> dict[str, TensorRange]:
        """What TensorRT is given for each dynamic or shape-carrying input of the model.

        A formula may fall where an axis rises (`512 - seq`), so the least and largest shape are taken over
        all corners of the range.
        """
        corners = [Size(self.axes, values) for values in self._corners()]
        shapes = [model.tensor_shapes(corner) for corner in corners]
        values = [model.tensor_values(corner) for corner in corners]
        opt, opt_values = model.tensor_shapes(self.opt), model.tensor_values(self.opt)
        ranges = {}
        for tensor in model.inputs:
            if not tensor.is_dynamic and not tensor.is_shape_tensor:
                continue
            name = tensor.name
            carried = None
            if tensor.is_shape_tensor:
                low, high = _bounds([v[name] for v in values])
                carried = {"min": low, "opt": opt_values[name], "max": high}
            low, high = _bounds([s[name] for s in shapes])
            ranges[name] = TensorRange(low, opt[name], high, carried)
        return ranges

    def _corners(self) -> Iterator[tuple[int, ...]]:
        pairs = zip(self.min.values, self.max.values, strict=True)
        return itertools.product(*[(low, high) if low != high else (low,) for low, high in pairs])


def _bounds(shapes: list[Shape]) -> tuple[Shape, Shape]:
    columns = list(zip(*shapes, strict=True))
    return tuple(min(c) for c in columns), tuple(max(c) for c in columns)


@dataclass(frozen=True, slots=True)
class ProfileSet:
    """The ordered profiles of one engine; the place in the order is the profile index."""

    profiles: tuple[OptimizationProfile, ...]

    def __post_init__(self) -> None:
        if not self.profiles:
            raise TunerError("a profile set needs at least one profile")
        if len({profile.axes for profile in self.profiles}) != 1:
            raise TunerError(f"profile set mixes axes: {[list(p.axes) for p in self.profiles]}")

    def __len__(self) -> int:
        return len(self.profiles)

    def __iter__(self) -> Iterator[OptimizationProfile]:
        return iter(self.profiles)

    def __str__(self) -> str:
        return " + ".join(str(profile) for profile in self.profiles)

    @property
    def axes(self) -> tuple[str, ...]:
        return self.profiles[0].axes

    def covers(self, size: Size) -> bool:
        return any(profile.covers(size) for profile in self.profiles)

    def covers_rows(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of an array of shape (sizes, axes) some profile covers; shape (sizes,)."""
        import numpy as np

        masks = [profile.covers_rows(sizes) for profile in self.profiles]
        return np.asarray(np.logical_or.reduce(masks))
