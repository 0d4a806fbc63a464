"""Plotly figures as plain JSON values, one function a form, in colours safe for colour-blind readers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

Figure = dict[str, Any]

# Okabe and Ito's colours without black and yellow, which vanish on a dark or a light page.
SERIES_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
SERIES_MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
SERIES_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SEQUENTIAL = "Cividis"
# ColorBrewer's Blues: little to much, light to dark; the page turns it round on a dark background.
WEIGHTS = [[0, "#c6dbef"], [0.5, "#6baed6"], [1, "#08306b"]]
# ColorBrewer's PuOr: purple against orange is told apart with any colour vision.
DIVERGING = [[0, "#5e3c99"], [0.25, "#b2abd2"], [0.5, "#f7f7f7"], [0.75, "#fdb863"], [1, "#e66101"]]
MOST_TICKS = 12


def literal(text: str) -> str:
    """Text that Plotly shows as it is: it would read tags such as <b> as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def axis(title: str, **more: Any) -> Figure:
    return {"title": {"text": literal(title), "standoff": 8}, "automargin": True, **more}


def index_axis(title: str, labels: Sequence[str]) -> Figure:
    """An axis over the places 0, 1, 2, ... of labels, of which so many are shown as fit."""
    step = max(1, -(-len(labels) // MOST_TICKS))
    places = list(range(0, len(labels), step))
    return axis(
        title,
        tickmode="array",
        tickvals=places,
        ticktext=[literal(labels[i]) for i in places],
        range=[-0.5, len(labels) - 0.5],
        zeroline=False,
        showgrid=False,
    )


def log_axis(title: str, values: Sequence[float], **more: Any) -> Figure:
    """A logarithmic axis with ticks at 1, 2 and 5 times powers of ten, as far as the values reach."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    shown = [tick for tick in ticks if low / 2 < tick < high * 2]
    return axis(title, type="log", tickvals=shown, ticktext=[f"{tick:g}" for tick in shown], **more)


def layout(x: Figure, y: Figure, **more: Any) -> Figure:
    """The layout that all figures share; fonts and backgrounds come from the page's theme."""
    return {
        "margin": {"l": 8, "r": 8, "t": 12, "b": 8},
        "xaxis": x,
        "yaxis": y,
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
            "xanchor": "left",
        },
        "hoverlabel": {"align": "left"},
        **more,
    }


def heat_map(
    values: Sequence[Sequence[float | None]],
    hover: Sequence[Sequence[str]],
    *,
    colour_title: str,
    **more: Any,
) -> Figure:
    """Cells at the places of two index axes; None leaves a cell empty."""
    return {
        "type": "heatmap",
        "z": [list(row) for row in values],
        "x0": 0,
        "dx": 1,
        "y0": 0,
        "dy": 1,
        "text": [[literal(cell) for cell in row] for row in hover],
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
        "colorscale": SEQUENTIAL,
        "colorbar": {
            "title": {"text": literal(colour_title), "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
        },
        **more,
    }


def line(name: str, x: Sequence[Any], y: Sequence[Any], place: int = 0, **more: Any) -> Figure:
    """A line with a colour, dash and marker of its own, by its place among the series."""
    colour = SERIES_COLOURS[place % len(SERIES_COLOURS)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": literal(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": 2, "dash": SERIES_DASHES[place % len(SERIES_DASHES)]},
        "marker": {"color": colour, "size": 7, "symbol": SERIES_MARKERS[place % len(SERIES_MARKERS)]},
        "cliponaxis": False,
        **more,
    }


def marks(name: str, x: Sequence[Any], y: Sequence[Any], place: int = 0, **more: Any) -> Figure:
    """Points without a line."""
    return line(name, x, y, place, **{"mode": "markers", **more})


def bars(name: str, x: Sequence[Any], y: Sequence[Any], place: int = 0, **more: Any) -> Figure:
    return {
        "type": "bar",
        "name": literal(name),
        "x": list(x),
        "y": list(y),
        "marker": {"color": SERIES_COLOURS[place % len(SERIES_COLOURS)]},
        **more,
    }


def rectangle(x: tuple[float, float], y: tuple[float, float], place: int) -> Figure:
    """A frame in a series' colour; the page gives it a light edge, so that it stands out on any cell."""
    return {
        "type": "rect",
        "x0": x[0],
        "x1": x[1],
        "y0": y[0],
        "y1": y[1],
        "line": {
            "color": SERIES_COLOURS[place % len(SERIES_COLOURS)],
            "width": 3,
            "dash": SERIES_DASHES[place % len(SERIES_DASHES)],
        },
    }


def interval_bars(
    values: Sequence[float | None], intervals: Sequence[Sequence[float] | None]
) -> Mapping[str, Any]:
    """Error bars from values to the ends of their intervals; none where an interval is not known."""
    both = list(zip(values, intervals, strict=True))
    return {
        "type": "data",
        "symmetric": False,
        "array": [i[1] - v if v is not None and i else 0 for v, i in both],
        "arrayminus": [v - i[0] if v is not None and i else 0 for v, i in both],
        "thickness": 1.5,
        "width": 5,
    }
