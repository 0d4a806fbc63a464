"""The performance curve: latency and throughput against the batch, and where a larger one stops to pay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tuner.measurements.sweep import LEAST_GAIN_OF_DOUBLING
from tuner.profiles.profile import ProfileSet
from tuner.report import charts
from tuner.report.contents import Cell, Chart, Columns, Table, table
from tuner.report.document_parts import Histogram
from tuner.report.known_curves import KnownCurves

MOST_SERIES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Timed batches, rising, at one value of every other axis, with the set's latency at each."""

    name: str
    batches: NDArray[np.int64]
    latency_ms: NDArray[np.float64]

    @property
    def throughput_rps(self) -> NDArray[np.float64]:
        return np.asarray(1000 * self.batches / self.latency_ms)

    @property
    def sweet_spot(self) -> int:
        return sweet_spot(self.batches.tolist(), self.throughput_rps.tolist())


def sweet_spot(batches: Sequence[int], throughputs: Sequence[float]) -> int:
    """Place of the first batch from which doubling brings less than `LEAST_GAIN_OF_DOUBLING`, else the last.

    Between batches that are no doublings the gain is taken per doubling.
    """
    for place in range(len(batches) - 1):
        doublings = np.log2(batches[place + 1] / batches[place])
        if (throughputs[place + 1] / throughputs[place]) ** (1 / doublings) - 1 < LEAST_GAIN_OF_DOUBLING:
            return place
    return len(batches) - 1


def performance_chart(profiles: ProfileSet, histogram: Histogram, curves: KnownCurves) -> Chart | None:
    """Latency above throughput, over the batch; None where no batch axis has two timed values."""
    axis = batch_axis(histogram.axes)
    series = [] if axis is None else _series(axis, profiles, histogram, curves)
    if axis is None or not series:
        return None
    first = series[0]
    spot = int(first.batches[first.sweet_spot])
    where = f" at {first.name}" if first.name else ""
    gain = f"{100 * LEAST_GAIN_OF_DOUBLING:.0f} %"
    title = (
        f"Throughput{where} still grows at the largest {axis} timed, {spot}"
        if first.sweet_spot == len(first.batches) - 1
        else f"From {axis} {spot} on, doubling it brings less than {gain} more throughput{where}"
    )
    layout = charts.layout(
        charts.axis(axis, type="log", anchor="y2", tickvals=first.batches.tolist()),
        charts.log_axis(
            "latency (ms)", np.concatenate([one.latency_ms for one in series]).tolist(), domain=[0.54, 1]
        ),
        yaxis2=charts.axis("requests/s", domain=[0, 0.46], rangemode="tozero"),
    )
    data = tuple(trace for place, one in enumerate(series) for trace in _traces(one, place))
    return Chart(f"{title} (star: sweet spot)", data, layout, _table(axis, series), height=480)


def _table(axis: str, series: Sequence[Series]) -> Table:
    others: list[Cell] = [one.name for one in series for _ in one.batches]
    columns: Columns = {
        "at": ("text", others),
        axis: ("number", [int(b) for one in series for b in one.batches]),
        "latency (ms)": ("number", [float(f"{v:.6g}") for one in series for v in one.latency_ms]),
        "requests/s": ("number", [float(f"{v:.6g}") for one in series for v in one.throughput_rps]),
        "": (
            "text",
            ["sweet spot" if i == one.sweet_spot else "" for one in series for i in range(len(one.batches))],
        ),
    }
    return table("performance", "Latency and throughput of the set at timed sizes", columns)


def batch_axis(axes: Sequence[str]) -> str | None:
    """The axis that counts requests: one whose name says so, or the only one there is."""
    named = [axis for axis in axes if axis.lower() in ("batch", "batch_size", "n", "rows")]
    return named[0] if named else axes[0] if len(axes) == 1 else None


def _series(axis: str, profiles: ProfileSet, histogram: Histogram, curves: KnownCurves) -> list[Series]:
    """The values of the other axes with the most work in the traffic, at the timed sizes."""
    sizes = curves.grid()
    latency = curves.served(profiles, sizes)
    if latency is None:
        return []
    own = histogram.axes.index(axis)
    others = [i for i in range(len(histogram.axes)) if i != own]
    work = histogram.counts * histogram.sizes.astype(float).prod(axis=1)
    found = []
    for key in np.unique(sizes[:, others], axis=0):
        rows = (sizes[:, others] == key).all(axis=1) & np.isfinite(latency) & (sizes[:, own] > 0)
        if rows.sum() > 1:
            weight = float(work[(histogram.sizes[:, others] == key).all(axis=1)].sum())
            name = ", ".join(f"{histogram.axes[i]} {v}" for i, v in zip(others, key.tolist(), strict=True))
            found.append((weight, Series(name, sizes[rows, own], latency[rows])))
    found.sort(key=lambda pair: -pair[0])
    return [series for _, series in found[:MOST_SERIES]]


def _traces(series: Series, place: int) -> list[charts.Figure]:
    name = series.name or "the set"
    x = series.batches.tolist()
    throughput = [float(f"{v:.6g}") for v in series.throughput_rps]
    spot = series.sweet_spot
    star = charts.marks("sweet spot", [x[spot]], [throughput[spot]], place, yaxis="y2", showlegend=False)
    star["marker"] |= {"symbol": "star", "size": 16, "line": {"color": "#ffffff", "width": 1}}
    return [
        charts.line(name, x, [float(f"{v:.6g}") for v in series.latency_ms], place, legendgroup=name),
        charts.line(name, x, throughput, place, legendgroup=name, yaxis="y2", showlegend=False),
        star,
    ]
