"""The report on the replay with a batcher: response times, queue over time, executed batches, capacity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tuner.report import charts
from tuner.report.contents import Chart, Columns, Json, Section, Table, percent, table
from tuner.report.document_parts import axes_of
from tuner.report.performance_chart import batch_axis
from tuner.report.search_section import opts_text

# What the section itself says of the recommended server, and so tells it from the others.
_OF_A_SERVER = ("batcher", "max_batch_size", "preferred_batch_size", "max_queue_delay_microseconds", "replay")
_PERCENTS = {"P50": "p50", "P90": "p90", "P99": "p99", "P99.9": "p999"}


def replay_section(document: Json) -> Section | None:
    """None where no batcher stood between requests and engine."""
    batching = document.get("batching")
    if not batching:
        return None
    servers = servers_of(batching)
    parts: list[Chart | Table] = [
        *_response_chart(servers),
        *_queue_chart(servers),
        *_batches_chart(batching, axes_of(document)),
        *_capacity_chart(servers),
        servers_table(servers, document),
        *_calibration_chart(batching),
    ]
    return Section("replay", "Replay of single requests", tuple(_sentences(batching)), tuple(parts))


def servers_of(batching: Json) -> Sequence[Json]:
    """The servers to compare, the recommended one last and marked."""
    found = [dict(server) for server in batching["servers"]]
    own = next(
        (server for server in found if all(server[key] == batching[key] for key in _OF_A_SERVER)), None
    )
    if own is None:
        own = {**batching, "name": "the server", "opts": [], "judged_at": None}
    others = [server for server in found if server is not own]
    return [*others, {**own, "name": f"{own['name']} (recommended)"}]


def _sentences(batching: Json) -> Iterator[str]:
    instances = batching["instance_count"]
    preferred = ", ".join(map(str, batching["preferred_batch_size"])) or "none"
    yield (
        f"Batcher {batching['batcher']}: batches of at most {batching['max_batch_size']} requests, "
        f"preferred sizes {preferred}, {batching['max_queue_delay_microseconds']:,} µs of delay at most; "
        f"{instances} execution context{'s' if instances > 1 else ''}, "
        f"{batching['deployment'].replace('_', ' ')}."
    )
    rate = batching.get("arrival_rate_rps")
    arriving = "" if rate is None else f", {rate:,.0f} requests/s"
    yield f"Requests arrive as logged, at {batching['load']:g} times the logged rate{arriving}."
    if batching["replay"]["overloaded"]:
        yield "The load is beyond capacity: the queue grows as long as the log lasts; no percentile is told."
    yield from _charged(batching["replay"])
    fixed = batching["fixed_point"]
    yield (
        f"The profiles fit the batches that the batcher makes of them: {fixed['outcome']} after "
        f"{fixed['iterations']} rounds, {fixed['batchers_tried']} batchers tried."
    )
    yield from batching.get("notes") or ()


def _charged(replay: Json) -> Iterator[str]:
    found = replay.get("changes")
    if found:
        yield (
            f"An execution takes {found['size_ms']:.4g} ms longer after another size on its context "
            f"({percent(found['size_share'])} of the executions), {found['profile_ms']:.4g} ms after another "
            f"profile ({percent(found['profile_share'])})."
        )


def servers_table(servers: Sequence[Json], document: Json) -> Table:
    axes = axes_of(document)
    replays = [server["replay"] for server in servers]
    capacities = [server.get("capacity") or {} for server in servers]
    columns: Columns = {
        "server": ("text", [server["name"] for server in servers]),
        "opts": ("text", [opts_text(server["opts"], axes) for server in servers]),
        "judged at": ("text", [server["judged_at"] or "its own curves" for server in servers]),
        "max batch": ("number", [server["max_batch_size"] for server in servers]),
        "delay (µs)": ("number", [server["max_queue_delay_microseconds"] for server in servers]),
    }
    for words, key in _PERCENTS.items():
        columns[f"response {words} (ms)"] = ("number", [replay[f"response_{key}_ms"] for replay in replays])
    columns["waiting P99 (ms)"] = ("number", [replay["waiting_p99_ms"] for replay in replays])
    columns["requests/s"] = ("number", [replay["throughput_rps"] for replay in replays])
    columns["within the limit/s"] = ("number", [replay["goodput_rps"] for replay in replays])
    columns["mean batch"] = ("number", [replay["mean_batch"] for replay in replays])
    columns["GPU busy"] = ("share", [replay["busy_share"] for replay in replays])
    columns["padding"] = ("share", [replay["padding_ratio"] for replay in replays])
    columns["capacity (requests/s)"] = ("number", [capacity.get("rate_rps") for capacity in capacities])
    known = {heading: c for heading, c in columns.items() if any(v is not None for v in c[1])}
    note = "Response time is waiting and service together. A dash: overloaded, or nothing was asked."
    return table("servers", "Servers on the same requests", known, note)


def _response_chart(servers: Sequence[Json]) -> Iterator[Chart]:
    """Percentiles of response time, a line a server; overloaded ones have none."""
    able = [server for server in servers if server["replay"]["response_p50_ms"] is not None]
    if not able:
        return
    times = [[server["replay"][f"response_{key}_ms"] for key in _PERCENTS.values()] for server in able]
    columns: Columns = {"percentile": ("text", list(_PERCENTS))}
    columns |= {f"{s['name']} (ms)": ("number", values) for s, values in zip(able, times, strict=True)}
    data = tuple(
        charts.line(server["name"], list(_PERCENTS), values, place)
        for place, (server, values) in enumerate(zip(able, times, strict=True))
    )
    every = [value for values in times for value in values]
    layout = charts.layout(
        charts.axis("percentile of the requests", type="category"),
        charts.log_axis("response time (ms)", every),
    )
    best = able[-1]
    title = f"{best['name']}: P99 of response time {best['replay']['response_p99_ms']:.4g} ms"
    yield Chart(title, data, layout, table("response-times", "Response times", columns), 340)


def _queue_chart(servers: Sequence[Json]) -> Iterator[Chart]:
    """Requests waiting over the log, a line a server."""
    able = [server for server in servers if server["replay"]["queue_lengths"]]
    if not able:
        return
    count = min(len(server["replay"]["queue_lengths"]) for server in able)
    passed = [place / max(1, count - 1) for place in range(count)]
    lengths = [server["replay"]["queue_lengths"][:count] for server in able]
    columns: Columns = {"share of the log": ("share", passed)}
    columns |= {s["name"]: ("number", values) for s, values in zip(able, lengths, strict=True)}
    data = tuple(
        charts.line(server["name"], passed, values, place, mode="lines")
        for place, (server, values) in enumerate(zip(able, lengths, strict=True))
    )
    layout = charts.layout(
        charts.axis("share of the log that has passed", tickformat=".0%"),
        charts.axis("requests waiting", rangemode="tozero"),
    )
    title = f"{able[-1]['name']}: at most {max(lengths[-1]):,} requests wait at the times looked at"
    yield Chart(title, data, layout, table("queue", "Requests waiting", columns), 300)


def _batches_chart(batching: Json, axes: Sequence[str]) -> Iterator[Chart]:
    """How often each batch was executed, over all other axes; nothing where no axis is the batch."""
    executed = batching["replay"].get("executed") or []
    axis = batch_axis(axes)
    if not executed or axis is None:
        return
    totals: Counter[int] = Counter()
    for *size, count in executed:
        totals[size[axes.index(axis)]] += count
    batches = sorted(totals)
    counts = [totals[batch] for batch in batches]
    shares = [float(f"{count / sum(counts):.6g}") for count in counts]
    columns: Columns = {
        axis: ("number", batches),
        "executions": ("number", counts),
        "share": ("share", shares),
    }
    data = charts.bars("executions", [str(batch) for batch in batches], shares, 4)
    layout = charts.layout(
        charts.axis(f"executed {axis}", type="category"),
        charts.axis("share of executions", tickformat=".0%"),
    )
    most, batch = max(zip(shares, batches, strict=True))
    title = f"{percent(most)} of the executions have {axis} {batch}"
    yield Chart(title, (data,), layout, table("batches", "Executed batches", columns), 300)


def _capacity_chart(servers: Sequence[Json]) -> Iterator[Chart]:
    """The highest rate that each server carries within the limit, with its interval."""
    able = [server for server in servers if server.get("capacity")]
    if not able:
        return
    names = [charts.literal(server["name"]) for server in able]
    rates = [server["capacity"]["rate_rps"] for server in able]
    intervals = [server["capacity"]["interval_rps"] for server in able]
    columns: Columns = {
        "server": ("text", [server["name"] for server in able]),
        "capacity (requests/s)": ("number", rates),
        "from": ("number", [interval[0] for interval in intervals]),
        "to": ("number", [interval[1] for interval in intervals]),
    }
    data = charts.marks("capacity", rates, names, 0)
    data["error_x"] = charts.interval_bars(rates, intervals)
    layout = charts.layout(
        charts.axis("requests/s within the limit", rangemode="tozero"),
        charts.axis("", type="category", autorange="reversed"),
    )
    title = f"{able[-1]['name']} carries {rates[-1]:,.0f} requests/s within the limit"
    yield Chart(title, (data,), layout, table("capacity", "Capacity", columns), 140 + 34 * len(able))


def _calibration_chart(batching: Json) -> Iterator[Chart]:
    """Observed against replayed percentiles of the deployed set, where the log has latencies."""
    found = batching.get("calibration") or []
    if not found:
        return
    percents = [f"P{one['percent']:g}" for one in found]
    observed, replayed = ([one[key] for one in found] for key in ("observed_ms", "replayed_ms"))
    off = [after / before - 1 for before, after in zip(observed, replayed, strict=True)]
    columns: Columns = {
        "percentile": ("text", percents),
        "observed (ms)": ("number", observed),
        "replayed (ms)": ("number", replayed),
        "off by": ("gain", off),
    }
    data = (charts.line("observed", percents, observed, 0), charts.line("replayed", percents, replayed, 1))
    layout = charts.layout(
        charts.axis("percentile of the requests", type="category"),
        charts.log_axis("response time (ms)", [*observed, *replayed]),
    )
    worst = max(off, key=abs)
    title = f"The replay of the deployed set is off the log's own latencies by {100 * worst:+.1f} % at most"
    yield Chart(title, data, layout, table("calibration", "Observed and replayed", columns), 300)
