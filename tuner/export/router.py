"""Picks the profile index for a size at run time, as the replay of the document did."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.model import Model, Shape
from tuner.profiles.profile import OptimizationProfile
from tuner.recommendation.profile_document import ProfileDocument

Sizes = tuple[int, ...]
Route = Callable[[Sizes], int | None]

SAME_LOG_DISTANCE = 1e-9
"""As in `profiles.routing`; a test holds the two together."""
MOST_REMEMBERED = 65_536
"""Sizes whose answer is kept; beyond them an answer is worked out anew, so that memory stays bounded."""


class Router:
    """The document's routing, for use in a server.

    `router(4, 128)` takes one value for each of `router.axes`, in that order, and gives the profile index,
    or None where no profile covers the size: -1 would silently pick the last profile of a list. An answer
    is a dictionary look-up once its size was seen. A router for the policy `sticky` remembers the profile
    it gave last, so each stream of requests needs its own.
    """

    __slots__ = ("_known", "_route", "axes", "policy")

    def __init__(self, document: ProfileDocument) -> None:
        self.axes = document.axes
        self.policy = document.policy
        self._known: dict[Sizes, int | None] = {size.values: i for size, i in document.table.items()}
        self._route = _ROUTES[document.policy](document)
        if self.policy != "best":
            self._known.clear()

    def __call__(self, *size: int) -> int | None:
        try:
            return self._known[size]
        except KeyError:
            return self._worked_out(size)

    def at(self, **size: int) -> int | None:
        """The same by axis name: `router.at(batch=4, seq=128)`."""
        return self(*Size.from_mapping(size, self.axes).values)

    def _worked_out(self, size: Sizes) -> int | None:
        if len(size) != len(self.axes):
            raise TunerError(f"the router takes one value for each of {list(self.axes)}, but got {size}")
        found = self._route(size)
        if self.policy != "sticky" and len(self._known) < MOST_REMEMBERED:
            self._known[size] = found
        return found


def _nearest_by_log(document: ProfileDocument) -> Route:
    ranges = _ranges(document)
    opts = [_logs(one.opt.values) for one in ranges]

    def route(size: Sizes) -> int | None:
        logs = _logs(size)
        distances = {
            i: sum(abs(a - b) for a, b in zip(opts[i], logs, strict=True)) for i in _covering(ranges, size)
        }
        least = min(distances.values(), default=math.inf) + SAME_LOG_DISTANCE
        return next((i for i, distance in distances.items() if distance <= least), None)

    return route


def _first_fit(document: ProfileDocument) -> Route:
    ranges = _ranges(document)
    return lambda size: next(iter(_covering(ranges, size)), None)


def _profile_zero(document: ProfileDocument) -> Route:
    first = _ranges(document)[:1]
    return lambda size: 0 if _covering(first, size) else None


def _sticky(document: ProfileDocument) -> Route:
    ranges = _ranges(document)
    last: int | None = None

    def route(size: Sizes) -> int | None:
        nonlocal last
        covering = _covering(ranges, size)
        if last not in covering and covering:
            last = covering[0]
        return last if covering else None

    return route


def _nearest_opt(document: ProfileDocument) -> Route:
    if document.model is None:
        raise TunerError(f"{document.source}: nearest_opt compares shapes, but names no model's inputs")
    return nearest_opt(_ranges(document), document.model)


def nearest_opt(ranges: Sequence[OptimizationProfile], model: Model) -> Route:
    """The routing of Triton's TensorRT backend; see `profiles.routing.route_nearest_opt` for its rule."""
    axes = ranges[0].axes
    opts = [model.tensor_shapes(one.opt) for one in ranges]

    def route(size: Sizes) -> int | None:
        shapes = model.tensor_shapes(Size(axes, size))
        distances = {i: _left_neighbour_distance(opts[i], shapes) for i in _covering(ranges, size)}
        return min(distances, key=distances.__getitem__, default=None)

    return route


def _left_neighbour_distance(opts: Mapping[str, Shape], shapes: Mapping[str, Shape]) -> int:
    return sum(
        abs(o - s)
        for name, shape in shapes.items()
        for o, s in zip(opts[name], (*shape[:1], *shape[:-1]), strict=True)
    )


_ROUTES: Mapping[str, Callable[[ProfileDocument], Route]] = {
    "best": _nearest_by_log,
    "first_fit": _first_fit,
    "profile_zero": _profile_zero,
    "sticky": _sticky,
    "nearest_opt": _nearest_opt,
}


def _ranges(document: ProfileDocument) -> tuple[OptimizationProfile, ...]:
    return tuple(profile.range for profile in document.profiles)


def _covering(ranges: Sequence[OptimizationProfile], size: Sizes) -> list[int]:
    return [
        i
        for i, one in enumerate(ranges)
        if all(a <= v <= b for a, v, b in zip(one.min.values, size, one.max.values, strict=True))
    ]


def _logs(size: Sizes) -> list[float]:
    return [math.log(max(value, 0.5)) for value in size]
