"""Size by size: where the recommended set wins against another one, and where it loses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.report import charts
from tuner.report.contents import Chart, Columns, Json, Table, percent, table
from tuner.report.document_parts import NamedSet, histogram_of
from tuner.report.known_curves import KnownCurves
from tuner.report.ticks import ticks_of

NOISE = 0.03
"""Two builds of one profile differ by about this much (the project's recorded measurements)."""
STRONGEST_COLOUR = 0.5

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Latencies in ms of two sets over the traffic's sizes; all arrays have a row for each size.

    `change` is ours over theirs less 1: below zero the recommended set is faster.
    """

    other: str
    axes: tuple[str, ...]
    sizes: NDArray[np.int64]
    shares: FloatArray
    ours_ms: FloatArray
    theirs_ms: FloatArray

    @property
    def change(self) -> FloatArray:
        return np.asarray(self.ours_ms / self.theirs_ms - 1)


def difference_charts(document: Json, sets: Sequence[NamedSet], curves: KnownCurves) -> list[Chart]:
    """Against the deployed set where there is one, else against the rule that people use."""
    other = compared_with(sets, curves)
    if other is None:
        return []
    found = difference(document, sets[0], other, curves)
    if found is None:
        return []
    numbers = _table(found)
    if len(found.axes) == 1:
        return [_bars(found, numbers)]
    return [_map(found, pair, numbers) for pair in itertools.combinations(range(len(found.axes)), 2)]


def compared_with(sets: Sequence[NamedSet], curves: KnownCurves) -> NamedSet | None:
    """The deployed set; else rule `max`, else the first rule with curves of its own."""
    ranked = sorted(sets[1:], key=lambda one: (one.name != "deployed", one.name != "rule max"))
    able = [one for one in ranked if not one.judged_at and all(curves.measured(p) for p in one.profiles)]
    return able[0] if able else None


def difference(document: Json, ours: NamedSet, other: NamedSet, curves: KnownCurves) -> Difference | None:
    histogram = histogram_of(document)
    kept = histogram.listed()
    sizes = histogram.sizes[kept]
    latencies = [curves.served(one.profiles, sizes) for one in (ours, other)]
    if latencies[0] is None or latencies[1] is None:
        return None
    both = np.isfinite(latencies[0]) & np.isfinite(latencies[1])
    if not both.any():
        return None
    shares = histogram.shares[kept]
    return Difference(
        other.name, histogram.axes, sizes[both], shares[both], latencies[0][both], latencies[1][both]
    )


def _title(found: Difference) -> str:
    change = found.change
    wins, loses = (float(found.shares[mask].sum()) for mask in (change < -NOISE, change > NOISE))
    return (
        f"Against {found.other} the recommended set is faster for {percent(wins)} of the rows and slower for "
        f"{percent(loses)}; the rest is within the {percent(NOISE, 0)} that two builds differ by"
    )


def _table(found: Difference) -> Table:
    saved = found.shares * (found.theirs_ms - found.ours_ms)
    order = np.argsort(-np.abs(saved), kind="stable")
    total = float((found.shares * found.theirs_ms).sum())
    columns: Columns = {a: ("number", found.sizes[order, i].tolist()) for i, a in enumerate(found.axes)}
    columns["share of rows"] = ("share", _rounded(found.shares[order]))
    columns["recommended (ms)"] = ("number", _rounded(found.ours_ms[order]))
    columns[f"{found.other} (ms)"] = ("number", _rounded(found.theirs_ms[order]))
    columns["change of latency"] = ("gain", _rounded(found.change[order]))
    columns["share of all GPU time saved"] = ("gain", _rounded(saved[order] / total))
    return table("differences", f"Size by size against {found.other}, what weighs most first", columns)


def _bars(found: Difference, numbers: Table) -> Chart:
    ticks = ticks_of(found.sizes[:, 0].tolist())
    change = _cells(found, ticks.places(found.sizes[:, 0]), len(ticks))
    data = charts.bars("change of latency", range(len(ticks)), _rounded(change), 0)
    data["marker"] = {"color": [charts.DIVERGING[0][1] if v < 0 else charts.DIVERGING[4][1] for v in change]}
    layout = charts.layout(
        charts.index_axis(found.axes[0], ticks.labels),
        charts.axis("change of latency (below 0: faster)", tickformat="+.0%"),
    )
    return Chart(_title(found), (data,), layout, numbers, height=320)


def _map(found: Difference, pair: tuple[int, int], numbers: Table) -> Chart:
    names = [found.axes[i] for i in pair]
    rows, columns = (ticks_of(found.sizes[:, i].tolist()) for i in pair)
    flat = rows.places(found.sizes[:, pair[0]]) * len(columns) + columns.places(found.sizes[:, pair[1]])
    cells = _cells(found, flat, len(rows) * len(columns)).reshape(len(rows), len(columns))
    hover = [
        [
            f"{names[0]} {r}, {names[1]} {c}: {100 * cells[i, j]:+.1f} % latency"
            for j, c in enumerate(columns.labels)
        ]
        for i, r in enumerate(rows.labels)
    ]
    values = [[float(f"{v:.4g}") if np.isfinite(v) else None for v in row] for row in cells]
    data = charts.heat_map(
        values,
        hover,
        colour_title="change of latency",
        zmin=-STRONGEST_COLOUR,
        zmax=STRONGEST_COLOUR,
        colorscale=charts.DIVERGING,
    )
    data["colorbar"] |= {"tickformat": "+.0%"}
    layout = charts.layout(
        charts.index_axis(names[1], columns.labels), charts.index_axis(names[0], rows.labels)
    )
    return Chart(f"{_title(found)} (purple: faster, orange: slower)", (data,), layout, numbers, height=420)


def _cells(found: Difference, places: NDArray[np.int64], length: int) -> FloatArray:
    """The change of GPU time of all sizes in a cell, NaN for an empty one."""
    ours = np.bincount(places, weights=found.shares * found.ours_ms, minlength=length)
    theirs = np.bincount(places, weights=found.shares * found.theirs_ms, minlength=length)
    ratio: FloatArray = np.divide(ours, theirs, out=np.full(length, np.nan), where=theirs > 0)
    return ratio - 1


def _rounded(values: FloatArray) -> list[float]:
    return [float(f"{v:.6g}") for v in values]
