"""Hypothesis strategies for the records that property tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tuner.axes import Size
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.traffic.histogram import SizeHistogram

AXES = ("batch", "seq")
dimensions = st.integers(1, 4096)


def sizes(axes: tuple[str, ...] = AXES) -> st.SearchStrategy[Size]:
    return st.tuples(*[dimensions] * len(axes)).map(lambda values: Size(axes, values))


@st.composite
def profiles(draw: st.DrawFn, axes: tuple[str, ...] = AXES) -> OptimizationProfile:
    bounds = [sorted(draw(st.tuples(dimensions, dimensions, dimensions))) for _ in axes]
    low, opt, high = zip(*bounds, strict=True)
    return OptimizationProfile(Size(axes, low), Size(axes, opt), Size(axes, high))


def profile_sets(axes: tuple[str, ...] = AXES) -> st.SearchStrategy[ProfileSet]:
    return st.lists(profiles(axes), min_size=1, max_size=4).map(lambda found: ProfileSet(tuple(found)))


@st.composite
def histograms(draw: st.DrawFn, axes: tuple[str, ...] = AXES, *, min_size: int = 1) -> SizeHistogram:
    rows = draw(st.lists(st.tuples(*[dimensions] * len(axes)), min_size=min_size, max_size=30))
    counts = draw(st.lists(st.integers(1, 1000), min_size=len(rows), max_size=len(rows)))
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(axes))
    return SizeHistogram(axes, table, np.array(counts, dtype=np.int64))
