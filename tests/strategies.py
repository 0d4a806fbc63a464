"""Hypothesis strategies for the records that property tests share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.export.written_documents import document_of, one
from tuner.axes import Size
from tuner.formula import axis_dimension, parse_formula
from tuner.model import Dimension, Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.recommendation.profile_document import ProfileDocument
from tuner.replay.changes import ChangeCosts
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


ODD_NAMES = (
    *("ids", "input/image:0", "onnx::Conv_1", "a'b", "a,b", "a*b", "a[0]", 'say "x"', "back\\slash"),
    *("with space", "größe", "-x", "$HOME", "`id`", "a;b", "a=b", "a|b", "a.b", "#x", "x{y}", "?"),
)
_dims: st.SearchStrategy[Dimension] = st.one_of(
    st.integers(1, 64),
    st.sampled_from(AXES).map(axis_dimension),
    st.sampled_from(("2*seq", "batch + seq", "512 - seq")).map(parse_formula),
)
_dtypes = st.sampled_from(("float32", "float16", "int64", "int32", "bool"))
plain_names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
odd_names = st.one_of(st.sampled_from(ODD_NAMES), plain_names)


@st.composite
def models(draw: st.DrawFn, names: st.SearchStrategy[str] = odd_names) -> Model:
    """One to four inputs: with axes, formulas, static ones, scalars and shape tensors."""
    found = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    first = TensorSpec(
        found[0], draw(_dtypes), (*map(axis_dimension, AXES), *draw(st.lists(_dims, max_size=2)))
    )
    return Model("m", (first, *(draw(_inputs(name)) for name in found[1:])), (), "hash")


@st.composite
def _inputs(draw: st.DrawFn, name: str) -> TensorSpec:
    if draw(st.booleans()):
        return TensorSpec(name, draw(_dtypes), tuple(draw(st.lists(_dims, max_size=4))))
    count = draw(st.integers(1, 3))
    return TensorSpec(name, "int64", (count,), tuple(axis_dimension(f"{name}[{i}]") for i in range(count)))


@st.composite
def documents(draw: st.DrawFn, names: st.SearchStrategy[str] = odd_names) -> ProfileDocument:
    """A document of one to four different profiles; every axis stays below 512 for the falling formula."""
    model = draw(models(names))
    bounds = st.tuples(*[st.integers(1, 511)] * 3).map(sorted)
    ranges = st.tuples(*[bounds] * len(model.axes)).map(
        lambda rows: one(*zip(*rows, strict=True), model.axes)
    )
    profiles = draw(st.lists(ranges, min_size=1, max_size=4, unique=True))
    return document_of(model, profiles, tensorrt=draw(st.sampled_from(("10.3.0", "11.0.0"))))


def change_costs() -> st.SearchStrategy[ChangeCosts]:
    """Free, of size alone, and of both; in ms."""
    costs = st.tuples(st.sampled_from((0.0, 0.05, 0.5)), st.sampled_from((0.0, 0.1, 1.0)))
    return costs.map(lambda found: ChangeCosts(size_ms=found[0], profile_ms=found[0] + found[1]))
