"""The report on latencies: where each profile is good, and how latency and throughput grow with the batch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.report import charts
from tuner.report.contents import Chart, Columns, Json, Section, Table, percent, table
from tuner.report.document_parts import Histogram, axes_of, histogram_of, profile_set
from tuner.report.known_curves import KnownCurves
from tuner.report.performance_chart import performance_chart
from tuner.report.ticks import Ticks, ticks_of

NEAR_BEST = 1.05
"""Up to this many times the best known latency counts as good: more than two builds differ by."""
WORST_COLOUR = 2.0
"""Slower than this many times the best looks alike, so that small differences stay visible."""
MOST_SIZES = 1_500
"""Sizes of the traffic that are shown beside the timed ones, the heaviest first."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ShownCurve:
    """A profile's latencies in ms beside the best known ones; all arrays have a row for each size."""

    index: int
    profile: OptimizationProfile
    sizes: NDArray[np.int64]
    latency_ms: FloatArray
    best_ms: FloatArray
    interpolated: NDArray[np.bool_]

    @property
    def ratio(self) -> FloatArray:
        return np.asarray(self.latency_ms / self.best_ms)


def latency_section(document: Json, curves: KnownCurves) -> Section:
    profiles = profile_set(document["profiles"], axes_of(document))
    histogram = histogram_of(document)
    parts: list[Chart | Table] = []
    for shown in shown_curves(profiles, histogram, curves):
        parts += curve_charts(shown)
    performance = performance_chart(profiles, histogram, curves)
    parts += [performance] if performance is not None else []
    sentences = (
        f"Latency is the P50 of GPU compute time (mode {curves.mode}). Best known is the least latency "
        f"that any of the {len(curves.all_measured())} measured profiles has at a size.",
        "Sizes that were timed are told apart from those interpolated between them.",
    )
    return Section("latency", "Latency of each profile", sentences, tuple(parts))


def shown_curves(profiles: ProfileSet, histogram: Histogram, curves: KnownCurves) -> list[ShownCurve]:
    """Each profile at the timed sizes and the heaviest of the traffic, as far as it covers them."""
    listed = histogram.sizes[histogram.listed()]
    heaviest = np.argsort(-histogram.counts[histogram.listed()], kind="stable")[:MOST_SIZES]
    sizes = np.unique(np.concatenate([curves.grid(), listed[heaviest]]), axis=0)
    best = curves.best(sizes)
    found = []
    for index, profile in enumerate(profiles):
        measured = curves.measured(profile)
        if measured is None:
            continue
        latency, interpolated = measured.curve(curves.mode).latencies(sizes)
        inside = np.isfinite(latency) & np.isfinite(best) & profile.covers_rows(sizes)
        if inside.any():
            kept = sizes[inside], latency[inside], best[inside], interpolated[inside]
            found.append(ShownCurve(index, profile, *kept))
    return found


def curve_charts(shown: ShownCurve) -> list[Chart]:
    """A curve for one axis, a heat map for each pair of axes for more."""
    good = float((shown.ratio <= NEAR_BEST).mean())
    title = (
        f"Profile {shown.index} (opt {shown.profile.opt.short}) is within {percent(NEAR_BEST - 1, 0)} "
        f"of the best known at {percent(good, 0)} of the sizes it covers, at worst "
        f"{shown.ratio.max():.2f} times as slow"
    )
    numbers = _latency_table(shown)
    axes = len(shown.profile.axes)
    if axes == 1:
        return [_ratio_curve(title, shown, numbers)]
    return [_ratio_map(title, shown, pair, numbers) for pair in itertools.combinations(range(axes), 2)]


def _latency_table(shown: ShownCurve) -> Table:
    columns: Columns = {a: ("number", shown.sizes[:, i].tolist()) for i, a in enumerate(shown.profile.axes)}
    columns["latency (ms)"] = ("number", _rounded(shown.latency_ms))
    columns["best known (ms)"] = ("number", _rounded(shown.best_ms))
    columns["times the best"] = ("number", _rounded(shown.ratio))
    columns["from"] = ("text", ["interpolated" if between else "timed" for between in shown.interpolated])
    return table(f"latency-profile-{shown.index}", f"Latency of profile {shown.index}", columns)


def _ratio_curve(title: str, shown: ShownCurve, numbers: Table) -> Chart:
    values, ratio = shown.sizes[:, 0], _rounded(shown.ratio)
    data = [charts.line("times the best known", values.tolist(), ratio, 0, mode="lines")]
    for name, mask, symbol in (
        ("timed", ~shown.interpolated, "circle"),
        ("interpolated", shown.interpolated, "circle-open"),
    ):
        if mask.any():
            y = [r for r, m in zip(ratio, mask, strict=True) if m]
            data.append(charts.marks(name, values[mask].tolist(), y, 0))
            data[-1]["marker"] |= {"symbol": symbol}
    axis = shown.profile.axes[0]
    opt = shown.profile.opt.values[0]
    layout = charts.layout(
        charts.log_axis(axis, np.maximum(values, 0.5).tolist()),
        charts.axis("times the best known latency", rangemode="tozero"),
        shapes=[{"type": "line", "x0": opt, "x1": opt, "yref": "paper", "y0": 0, "y1": 1, "line": _OPT_LINE}],
    )
    return Chart(f"{title}; the upright line is its opt", tuple(data), layout, numbers, height=320)


_OPT_LINE = {"color": charts.SERIES_COLOURS[5], "width": 2, "dash": "dot"}


def _ratio_map(title: str, shown: ShownCurve, pair: tuple[int, int], numbers: Table) -> Chart:
    """Times the best known latency over two axes; the median where several sizes share a cell."""
    names = [shown.profile.axes[i] for i in pair]
    rows, columns = (ticks_of(shown.sizes[:, i].tolist()) for i in pair)
    at = rows.places(shown.sizes[:, pair[0]]), columns.places(shown.sizes[:, pair[1]])
    cells = _cell_medians(shown.ratio, at, (len(rows), len(columns)))
    timed = _cell_medians((~shown.interpolated).astype(float), at, (len(rows), len(columns)))
    hover = [
        [
            f"{names[0]} {r}, {names[1]} {c}: {cells[i, j]:.3f} times the best known, "
            + ("timed" if timed[i, j] else "interpolated")
            for j, c in enumerate(columns.labels)
        ]
        for i, r in enumerate(rows.labels)
    ]
    values = [[float(f"{v:.4g}") if np.isfinite(v) else None for v in row] for row in cells]
    data = [
        charts.heat_map(
            values, hover, colour_title="times the best", zmin=1, zmax=WORST_COLOUR, reversescale=True
        ),
        *_timed_marks(timed),
        _opt_mark(shown, pair, rows, columns),
    ]
    layout = charts.layout(
        charts.index_axis(names[1], columns.labels), charts.index_axis(names[0], rows.labels)
    )
    if len(shown.profile.axes) > 2:
        title = f"{names[0]} against {names[1]}: {title}"
    return Chart(title, tuple(data), layout, numbers, height=420)


def _cell_medians(
    values: FloatArray, at: tuple[NDArray[np.int64], NDArray[np.int64]], shape: tuple[int, int]
) -> FloatArray:
    """The median of the values in each cell, NaN for an empty one."""
    cells = np.full(shape, np.nan)
    flat = at[0] * shape[1] + at[1]
    order = np.argsort(flat, kind="stable")
    places, starts = np.unique(flat[order], return_index=True)
    for place, own in zip(places, np.split(values[order], starts[1:]), strict=True):
        cells[divmod(int(place), shape[1])] = np.median(own)
    return cells


def _timed_marks(timed: FloatArray) -> list[charts.Figure]:
    """A dot where a size was timed: those are few, whatever the traffic."""
    y, x = np.nonzero(timed > 0)
    mark = charts.marks("timed (the rest is interpolated)", x.tolist(), y.tolist(), hoverinfo="skip")
    mark["marker"] = {
        "symbol": "circle",
        "size": 4,
        "color": "#000000",
        "line": {"color": "#ffffff", "width": 1},
    }
    return [mark]


def _opt_mark(shown: ShownCurve, pair: tuple[int, int], rows: Ticks, columns: Ticks) -> charts.Figure:
    opt = shown.profile.opt
    x, y = columns.position(opt.values[pair[1]]), rows.position(opt.values[pair[0]])
    mark = charts.marks(f"opt {opt.short}", [x], [y], shown.index, hoverinfo="name")
    mark["marker"] |= {"size": 14, "line": {"color": "#ffffff", "width": 2}}
    return mark


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{v:.6g}") for v in values]
