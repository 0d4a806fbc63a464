"""What a sweep looks like: a table, bars of the throughput, a sentence on the sweet spot, and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.measurements.caveats import flat_curve
from tuner.measurements.measurement import BuiltEngine
from tuner.measurements.runner import ContextsTiming
from tuner.measurements.sweep import LEAST_GAIN_OF_DOUBLING, SweepRow, sweet_spot
from tuner.report.look import DOUBT, bar, plain_table

BAR_WIDTH = 40
_COLUMNS = ("p50_ms", "p90_ms", "p99_ms", "graph_p50_ms", "h2d_ms", "d2h_ms", "enqueue_ms")


def sweep_view(rows: Sequence[SweepRow], device_memory_bytes: int | None) -> RenderableType:
    """The whole answer of `tuner measure --sweep`."""
    best = sweet_spot(rows)
    parts: list[RenderableType] = [sweep_table(rows, best)]
    parts += [Text(line) for line in bars(rows)]
    parts.append(Text(sweet_spot_sentence(best)))
    if device_memory_bytes is not None:
        parts.append(
            Text(
                f"memory: inputs, outputs and {device_memory_bytes / 2**20:.0f} MiB of an execution context; "
                "weights come once on top"
            )
        )
    else:
        parts.append(Text("memory: inputs and outputs alone, the engine does not tell that of a context"))
    doubts = dict.fromkeys(f"caveat at {row.size}: {caveat}" for row in rows for caveat in row.caveats)
    first, last = rows[0], rows[-1]
    flat = flat_curve(first.p50_ms, last.p50_ms, work_ratio=last.size.work / max(first.size.work, 1))
    doubts |= {f"caveat of the curve: {flat}": None} if flat is not None else {}
    parts += [Text(doubt, style=DOUBT) for doubt in doubts]
    return Group(*parts)


def sweep_table(rows: Sequence[SweepRow], best: SweepRow | None) -> Table:
    latencies = ("p50", "p90", "p99", "graph p50", "H2D", "D2H", "enqueue")
    headings = ("size", *latencies, "memory MiB", "busy", "inf/s", "work/s")
    table = plain_table(f"Latency in ms by {', '.join(rows[0].size.axes)}", (), headings)
    for row in rows:
        times = [_text(getattr(row, column)) for column in _COLUMNS]
        mark = " *" if row == best else ""
        table.add_row(
            row.size.short + mark,
            *times,
            f"{(row.memory_bytes or row.io_bytes) / 2**20:.2f}",
            "-" if row.utilisation is None else f"{row.utilisation:.0%}",
            f"{row.inferences_per_s:.0f}",
            f"{row.work_per_s:.4g}",
        )
    return table


def sharing_view(shared: Sequence[ContextsTiming], engine: BuiltEngine) -> RenderableType:
    """How service time grows with contexts that share the GPU, and what changes cost in the engine."""
    parts: list[RenderableType] = []
    if shared:
        table = Table(title="The opt in several execution contexts at once", title_justify="left")
        for heading in ("contexts", "p50 ms", "p99 ms", "against one", "inf/s"):
            table.add_column(heading, justify="right")
        alone = shared[0].p50_ms
        for one in shared:
            growth = f"{one.p50_ms / alone:.2f} x" if shared[0].contexts == 1 else "-"
            cells = (_text(one.p50_ms), _text(one.p99_ms), growth, f"{one.inferences_per_s:.0f}")
            table.add_row(str(one.contexts), *cells)
        parts.append(table)
    for what, cost_ms in (("size", engine.size_change_ms), ("profile", engine.profile_change_ms)):
        if cost_ms is not None:
            parts.append(Text(f"after a change of {what} the next inference takes {cost_ms:.3f} ms longer"))
    if engine.profile_change_ms is None and len(engine.spec.profiles) == 1:
        parts.append(
            Text("the engine has one profile: what a change of profile costs needs one with several")
        )
    return Group(*parts)


def bars(rows: Sequence[SweepRow]) -> list[str]:
    """Throughput of each size as a bar, the largest over the whole width."""
    most = max(row.work_per_s for row in rows)
    width = max(len(row.size.short) for row in rows)
    return [
        f"{row.size.short:>{width}} {bar(row.work_per_s / most, BAR_WIDTH)} {row.work_per_s:.4g}/s"
        for row in rows
    ]


def sweet_spot_sentence(best: SweepRow | None) -> str:
    if best is None:
        return (
            f"sweet spot: beyond this sweep, doubling still brings {LEAST_GAIN_OF_DOUBLING:.0%} or more; "
            "sweep further"
        )
    return (
        f"sweet spot (*): {best.size}, {best.p50_ms:.3f} ms; from there doubling the work brings less than "
        f"{LEAST_GAIN_OF_DOUBLING:.0%} more throughput and only adds latency"
    )


def sweep_csv(rows: Sequence[SweepRow]) -> str:
    """One line a size, with the axes as columns."""
    text = io.StringIO()
    axes = rows[0].size.axes
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [*axes, *_COLUMNS, "io_bytes", "memory_bytes", "utilisation", "inferences_per_s", "work_per_s"]
    )
    for row in rows:
        times = [_text(getattr(row, column), "") for column in _COLUMNS]
        rates = [f"{row.inferences_per_s:.6g}", f"{row.work_per_s:.6g}"]
        memory = "" if row.memory_bytes is None else row.memory_bytes
        busy = _text(row.utilisation, "")
        writer.writerow([*row.size.values, *times, row.io_bytes, memory, busy, *rates])
    return text.getvalue()


def _text(value: float | None, missing: str = "-") -> str:
    return missing if value is None else f"{value:.4f}"
