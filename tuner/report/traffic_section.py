"""The report on the traffic: sizes with the profiles drawn over them, percentiles, drift, rejected rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from tuner.profiles.profile import ProfileSet
from tuner.report import charts
from tuner.report.contents import Chart, Columns, Json, Section, Table, percent, table
from tuner.report.document_parts import Histogram, axes_of, histogram_of, profile_set
from tuner.report.ticks import Ticks, ticks_of

_PERCENTS = ("p50", "p90", "p99")
_HEAVY = 0.01
"""Below this share no size is worth a name of its own."""
_INSET = 0.006
"""How far the frame of each further profile lies inside, as a share of the chart."""


def traffic_section(document: Json) -> Section:
    traffic = document["traffic"]
    profiles = profile_set(document["profiles"], axes_of(document))
    parts: list[Chart | Table] = [profiles_table(document), *tensors_table(document)]
    histogram = histogram_of(document)
    if len(histogram.counts):
        parts += size_charts(histogram, profiles)
    parts.append(percentiles_table(traffic))
    parts += drift_charts(traffic)
    parts += [rejected_table(traffic)] if traffic["rejected"] else []
    return Section("traffic", "Traffic and profiles", tuple(_sentences(traffic)), tuple(parts))


def _sentences(traffic: Json) -> Iterator[str]:
    span = (
        f", {_minute(traffic['start'])} to {_minute(traffic['end'])}"
        if traffic["start"] and traffic["end"]
        else ""
    )
    yield (
        f"{traffic['requests']:,} requests in {traffic['rows']:,} rows of kind {traffic['log_kind']}{span}; "
        f"{traffic['distinct_sizes']:,} distinct sizes."
    )
    rejected = sum(found["rows"] for found in traffic["rejected"].values())
    total = max(1, traffic["rows"])
    yield f"{rejected:,} rows ({percent(rejected / total)}) were rejected."
    uncovered = traffic.get("uncovered")
    if uncovered and uncovered["requests"]:
        yield (
            f"{percent(uncovered['requests_share'])} of the requests and {percent(uncovered['work_share'])} "
            f"of the work lie outside of what was measured or allowed ({uncovered['action']})."
        )
    elif uncovered:
        yield "Every request is covered."


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"


def profiles_table(document: Json) -> Table:
    found = document["profiles"]
    axes = axes_of(document)
    columns: Columns = {"profile": ("number", [p["index"] for p in found])}
    for bound in ("min", "opt", "max"):
        columns[f"{bound} ({', '.join(axes)})"] = (
            "text",
            [" x ".join(str(p[bound][axis]) for axis in axes) for p in found],
        )
    columns["requests"] = ("share", [p["requests_share"] for p in found])
    columns["work"] = ("share", [p["work_share"] for p in found])
    title = "The set to run: " + ("one profile" if len(found) == 1 else f"{len(found)} profiles")
    return table("profiles", title, columns, "Shares are those of the traffic that a profile serves.")


def tensors_table(document: Json) -> Iterator[Table]:
    """Min, opt and max shape of each input, where the model is known; values of shape tensors after them."""
    rows = [
        (profile["index"], name, [_shape(tensor, bound) for bound in ("min", "opt", "max")])
        for profile in document["profiles"]
        for name, tensor in (profile.get("tensors") or {}).items()
    ]
    if rows:
        columns: Columns = {
            "profile": ("number", [index for index, _, _ in rows]),
            "input": ("text", [name for _, name, _ in rows]),
        }
        for place, bound in enumerate(("min", "opt", "max")):
            columns[bound] = ("text", [shapes[place] for _, _, shapes in rows])
        yield table("inputs", "Shapes of each input", columns)


def _shape(tensor: Json, bound: str) -> str:
    values = (tensor.get("values") or {}).get(bound)
    shape = "x".join(str(dim) for dim in tensor[bound])
    return shape if values is None else f"{shape} with values {', '.join(str(value) for value in values)}"


def size_charts(histogram: Histogram, profiles: ProfileSet) -> list[Chart]:
    """Bars for one axis, a heat map for two, one heat map a pair of axes for more."""
    sizes = _sizes_table(histogram)
    if len(histogram.axes) == 1:
        return [_size_bars(histogram, profiles, sizes)]
    pairs = itertools.combinations(range(len(histogram.axes)), 2)
    return [_size_map(histogram, profiles, pair, sizes) for pair in pairs]


def _sizes_table(histogram: Histogram) -> Table:
    order = np.lexsort((-histogram.counts, histogram.is_bucket))
    columns: Columns = {
        axis: ("number", histogram.sizes[order, i].tolist()) for i, axis in enumerate(histogram.axes)
    }
    columns["rows"] = ("number", histogram.counts[order].tolist())
    columns["share of rows"] = ("share", [float(f"{share:.6g}") for share in histogram.shares[order]])
    rest = int(histogram.is_bucket.sum())
    note = f"The last {rest} lines sum up rare sizes, each axis rounded up to a power of two." if rest else ""
    return table("sizes", "Sizes in the log, heaviest first", columns, note)


def _heaviest_sentence(histogram: Histogram) -> str:
    heaviest = int(np.argmax(np.where(histogram.listed(), histogram.counts, 0)))
    size = ", ".join(
        f"{a} {v}" for a, v in zip(histogram.axes, histogram.sizes[heaviest].tolist(), strict=True)
    )
    share = float(histogram.shares[heaviest])
    if share < _HEAVY:
        return f"No size has more than {percent(share, 2)} of the rows"
    return f"{percent(share)} of the rows have the heaviest size, {size}"


def _size_bars(histogram: Histogram, profiles: ProfileSet, sizes: Table) -> Chart:
    """Bars over the values of the only axis; below them a line for each profile from min to max."""
    name = histogram.axes[0]
    values = histogram.sizes[:, 0]
    ticks = ticks_of(values.tolist())
    weight = np.bincount(ticks.places(values), weights=histogram.shares, minlength=len(ticks))
    hover = [
        f"{name} {label}: {percent(w, 2)} of rows" for label, w in zip(ticks.labels, weight, strict=True)
    ]
    data = [
        charts.bars(
            "share of rows",
            range(len(ticks)),
            weight.tolist(),
            4,
            text=[charts.literal(h) for h in hover],
            hovertemplate="%{text}<extra></extra>",
            textposition="none",
            showlegend=False,
        )
    ]
    for index, profile in enumerate(profiles):
        ends = [ticks.position(profile.min.values[0]), ticks.position(profile.max.values[0])]
        low, opt, high = profile.min.values[0], profile.opt.values[0], profile.max.values[0]
        label = f"profile {index}: {low} to {high}, opt {opt}"
        data.append(
            charts.line(label, ends, [index, index], index, yaxis="y2", mode="lines", hoverinfo="name")
        )
        place = [ticks.position(opt)]
        data.append(
            charts.marks(label, place, [index], index, yaxis="y2", showlegend=False, hoverinfo="name")
        )
    below = 0.06 + 0.06 * len(profiles)
    layout = charts.layout(
        {**charts.index_axis(name, ticks.labels), "anchor": "y2"},
        charts.axis("share of rows", tickformat=".0%", domain=[below + 0.04, 1]),
        yaxis2={
            "domain": [0, below],
            "range": [-0.6, len(profiles) - 0.4],
            "visible": False,
            "fixedrange": True,
        },
        bargap=0.1,
    )
    return Chart(_heaviest_sentence(histogram), tuple(data), layout, sizes, height=400)


def _size_map(histogram: Histogram, profiles: ProfileSet, pair: tuple[int, int], sizes: Table) -> Chart:
    y_axis, x_axis = pair
    names = (histogram.axes[y_axis], histogram.axes[x_axis])
    rows, columns = (ticks_of(histogram.sizes[:, i].tolist()) for i in pair)
    cells = np.zeros((len(rows), len(columns)))
    places = rows.places(histogram.sizes[:, y_axis]), columns.places(histogram.sizes[:, x_axis])
    np.add.at(cells, places, histogram.shares)
    hover = [
        [
            f"{names[0]} {r}, {names[1]} {c}: {percent(cells[i, j], 2)} of rows"
            for j, c in enumerate(columns.labels)
        ]
        for i, r in enumerate(rows.labels)
    ]
    # Shares span orders of magnitude, so colours follow their logarithm.
    shown = [[float(f"{np.log10(v):.4g}") if v > 0 else None for v in row] for row in cells.tolist()]
    powers = _powers(cells)
    data: list[charts.Figure] = [
        charts.heat_map(
            shown, hover, colour_title="share of rows (log scale)", meta="weight", colorscale=charts.WEIGHTS
        )
    ]
    data[0]["colorbar"] |= {"tickvals": powers, "ticktext": [f"{100 * 10.0**p:g} %" for p in powers]}
    data += profile_marks(profiles, pair, rows, columns)
    layout = charts.layout(
        charts.index_axis(names[1], columns.labels),
        charts.index_axis(names[0], rows.labels),
        shapes=profile_frames(profiles, pair, rows, columns),
    )
    title = f"{_heaviest_sentence(histogram)}; frames are the profiles' ranges, marks their opts"
    if len(histogram.axes) > 2:
        title = f"{names[0]} against {names[1]}: {title}"
    return Chart(title, tuple(data), layout, sizes, height=460)


def _powers(cells: np.ndarray) -> list[int]:
    used = cells[cells > 0]
    return list(range(int(np.floor(np.log10(used.min()))), int(np.ceil(np.log10(used.max()))) + 1))


def profile_frames(
    profiles: ProfileSet, pair: tuple[int, int], rows: Ticks, columns: Ticks
) -> list[charts.Figure]:
    """One frame a profile around its range; frames that coincide are drawn one inside the other."""
    frames = []
    for index, profile in enumerate(profiles):
        y_axis, x_axis = pair
        x = columns.extent(profile.min.values[x_axis], profile.max.values[x_axis])
        y = rows.extent(profile.min.values[y_axis], profile.max.values[y_axis])
        across, up = _INSET * index * len(columns), _INSET * index * len(rows)
        frames.append(charts.rectangle((x[0] + across, x[1] - across), (y[0] + up, y[1] - up), index))
    return frames


def profile_marks(
    profiles: ProfileSet, pair: tuple[int, int], rows: Ticks, columns: Ticks
) -> list[charts.Figure]:
    found = []
    for index, profile in enumerate(profiles):
        x, y = columns.position(profile.opt.values[pair[1]]), rows.position(profile.opt.values[pair[0]])
        name = f"profile {index}, opt {profile.opt.short}"
        mark = charts.marks(name, [x], [y], index, hoverinfo="name")
        mark["marker"] |= {"size": 14, "line": {"color": "#ffffff", "width": 2}}
        found.append(mark)
    return found


def percentiles_table(traffic: Json) -> Table:
    """P50, P90 and P99 of each axis and of the work."""
    found = traffic["percentiles"]
    names = ["axis", *_PERCENTS]
    columns: Columns = {
        "axis": ("text", [f"{name} (product of the axes)" if name == "work" else name for name in found])
    }
    for name in names[1:]:
        columns[name.upper()] = ("number", [values[name] for values in found.values()])
    return table("percentiles", "Percentiles of the sizes over rows", columns)


def drift_charts(traffic: Json) -> Iterator[Chart]:
    """P50, P90 and P99 of each axis and of the work over time, where the log had times."""
    periods = traffic.get("over_time") or []
    if len(periods) < 2:
        return
    starts = [period["start"] for period in periods]
    for name in periods[0]["percentiles"]:
        values = {p: [period["percentiles"][name][p] for period in periods] for p in _PERCENTS}
        columns: Columns = {
            "start (UTC)": ("text", starts),
            "rows": ("number", [period["rows"] for period in periods]),
            **{p.upper(): ("number", values[p]) for p in _PERCENTS},
        }
        data = tuple(charts.line(p.upper(), starts, values[p], i) for i, p in enumerate(_PERCENTS))
        low, high = min(values["p90"]), max(values["p90"])
        shown = "work" if name == "work" else f"axis {name}"
        title = (
            f"P90 of {shown} stays at {low:,}"
            if low == high
            else f"P90 of {shown} moves between {low:,} and {high:,}"
        )
        layout = charts.layout(charts.axis("time (UTC)", type="date"), charts.axis(name, rangemode="tozero"))
        yield Chart(
            f"{title} over time",
            data,
            layout,
            table(f"drift-{name}", f"{shown} over time", columns),
            height=300,
        )


def rejected_table(traffic: Json) -> Table:
    found = traffic["rejected"]
    return table(
        "rejected",
        "Rejected rows",
        {
            "reason": ("text", list(found)),
            "rows": ("number", [one["rows"] for one in found.values()]),
            "share of rows": ("share", [one["rows"] / max(1, traffic["rows"]) for one in found.values()]),
            "first place": ("text", [one["first"] for one in found.values()]),
        },
    )
