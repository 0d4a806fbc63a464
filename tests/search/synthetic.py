"""A family of made-up engines with known curves: shaped like the recorded ones, denser, in 1 to 4 axes.

Latency falls and rises smoothly with the distance between opt and size in doublings of work, each opt has
a wave of its own over the sizes, and builds differ by noise. All of it follows from the seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tuner.axes import Size
from tuner.engines.spec import Environment
from tuner.errors import EngineError
from tuner.formula import axis_dimension
from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.measurements.source import PRUNED, FailedProfile, MeasuredProfile, SourceFacts, Stop
from tuner.model import Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile
from tuner.traffic.histogram import SizeHistogram

AXES = ("a", "b", "c", "d")
REACH = {1: 12.0, 2: 8.0, 3: 5.0, 4: 4.0}
"""Doublings of each axis, by the number of axes."""


class SyntheticSource:
    """Builds any profile at once; `built` lists what was asked for, in order.

    `fails` may name a failure for an opt: a kind and a reason. With `opts` only those can be had.
    """

    def __init__(
        self,
        axis_count: int,
        seed: int = 0,
        *,
        opts: Sequence[Size] | None = None,
        fails: Callable[[Size], tuple[str, str] | None] = lambda opt: None,
        noise: float = 0.015,
    ) -> None:
        self.axes = AXES[:axis_count]
        dims = tuple(axis_dimension(axis) for axis in self.axes)
        self.model = Model("made-up", (TensorSpec("x", "float32", dims),), content_hash=f"{seed:016x}")
        self.built: list[OptimizationProfile] = []
        self.timed_count = 0
        self._opts = opts
        self._fails = fails
        self._noise = noise
        self._seed = seed
        self._wave = np.random.default_rng(seed).normal(size=(6, 2 * axis_count + 1))

    @property
    def facts(self) -> SourceFacts:
        return SourceFacts(
            origin="measured",
            environment=Environment(gpu="made up", tensorrt="8.6.0"),
            precision="fp16",
            builder_options="defaults",
            measured_on="2026-11-30",
            build_count=len(self.built),
            measurement_count=self.timed_count,
        )

    def candidates(self) -> Sequence[OptimizationProfile] | None:
        if self._opts is None:
            return None
        values = np.array([opt.values for opt in self._opts])
        low, high = (
            Size(self.axes, tuple(int(v) for v in c)) for c in (values.min(axis=0), values.max(axis=0))
        )
        return [OptimizationProfile(low, opt, high) for opt in self._opts]

    def measure(
        self, profile: OptimizationProfile, sizes: NDArray[np.int64], stop: Stop | None = None
    ) -> MeasuredProfile | FailedProfile:
        self.built.append(profile)
        failure = self._fails(profile.opt)
        if failure is not None:
            return FailedProfile(profile=profile, kind=failure[0], reason=failure[1])
        latency = self.latency_ms(profile.opt, sizes)
        heaviest = np.sort(np.argsort(-latency, kind="stable")[: max(2, len(sizes) // 3)])
        if stop is not None:
            reason = stop(Curve(profile, sizes[heaviest], latency[heaviest]))
            if reason is not None:
                self.timed_count += len(heaviest)
                return FailedProfile(profile=profile, kind=PRUNED, reason=reason)
        self.timed_count += len(sizes)
        curves = {Mode.ENQUEUE: Curve(profile, sizes, latency)}
        return MeasuredProfile(profile=profile, curves=curves, engine_keys=(str(profile),), build_s=20.0)

    def latency_ms(self, opt: Size, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The one true curve of an opt; NaN for none."""
        own, others = np.log2(np.maximum(opt.values, 1)), np.log2(np.maximum(sizes, 1))
        above = others.sum(axis=1) - own.sum()
        base = np.logaddexp(np.log(0.2), 0.8 * np.log(2) * others.sum(axis=1) - 7)
        bowl = 0.12 * np.maximum(above, 0) ** 1.1 + 0.05 * np.maximum(-above, 0)
        place = np.concatenate(
            [np.broadcast_to(own, others.shape), others, np.ones((len(others), 1))], axis=1
        )
        wave = 0.03 * np.sin(place @ self._wave.T / 3).sum(axis=1)
        drawn = np.random.default_rng([self._seed, *opt.values]).normal()
        return np.asarray(np.exp(base + bowl + wave + self._noise * drawn))


def grid_opts(axis_count: int, per_axis: int) -> list[Size]:
    """Opts on a grid, spaced evenly by ratio: `per_axis` to the power of `axis_count` of them."""
    ticks = sorted({round(2**e) for e in np.linspace(0, REACH[axis_count], per_axis)})
    return [Size(AXES[:axis_count], values) for values in itertools.product(ticks, repeat=axis_count)]


def made_up_traffic(axis_count: int, seed: int, distinct: int = 40) -> SizeHistogram:
    """Two kinds of requests, small ones that are many and large ones that are few."""
    generator = np.random.default_rng([seed, axis_count])
    reach = REACH[axis_count]
    centres = generator.uniform(0.1, 0.9, (2, axis_count)) * reach
    kind = generator.integers(0, 2, distinct)
    doublings = np.clip(centres[kind] + generator.normal(0, 0.15 * reach, (distinct, axis_count)), 0, reach)
    corners = np.array([[0] * axis_count, [reach] * axis_count])
    sizes = np.round(2.0 ** np.concatenate([doublings, corners])).astype(np.int64)
    counts = generator.integers(1, 1000, len(sizes))
    return SizeHistogram(AXES[:axis_count], sizes, counts)


def raising(opt: Size) -> tuple[str, str] | None:
    raise EngineError("the builder died", "crashed")
