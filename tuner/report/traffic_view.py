"""What a log looks like in a terminal: tables and sentences, built here, printed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.report.look import DIM, bar, distribution, plain_table
from tuner.report.traffic_summary import PERCENTS, Spread, TrafficSummary

_BAR_WIDTH = 40
_FAR = 100
"""Times the P99 from which a request is named as an outlier."""


def traffic_view(summary: TrafficSummary) -> RenderableType:
    parts: list[RenderableType] = [Text(line) for line in sentences(summary)]
    parts += [spread_table(summary), heaviest_table(summary), work_table(summary)]
    if summary.traffic.rejections:
        parts.append(rejected_table(summary))
    if len(summary.periods) > 1:
        parts.append(drift_table(summary))
    parts += [Text(f"note: {note}", style=DIM) for note in summary.traffic.notes]
    return Group(*parts)


def sentences(summary: TrafficSummary) -> Iterator[str]:
    traffic = summary.traffic
    skipped = "".join(f", {count:,} {why}" for why, count in traffic.skipped.items())
    yield (
        f"{summary.request_count:,} requests in {traffic.used_row_count:,} of {traffic.row_count:,} rows "
        f"({traffic.rejected_count:,} rejected{skipped}), {len(traffic.histogram):,} distinct sizes"
    )
    if traffic.start is not None and traffic.end is not None:
        yield f"from {traffic.start:%Y-%m-%d %H:%M:%S} to {traffic.end:%Y-%m-%d %H:%M:%S} UTC"
    for spread in summary.spreads[:-1]:
        if spread.zero_count:
            yield _zero_sentence(spread, traffic.histogram.request_count)
    yield from _outliers(summary)


def _zero_sentence(spread: Spread, total: int) -> str:
    verb = "has" if spread.zero_count == 1 else "have"
    return f"{spread.zero_count:,} of {total:,} requests {verb} {spread.name} 0"


def _outliers(summary: TrafficSummary) -> Iterator[str]:
    """Requests that a profile's max would have to reach far out for."""
    histogram, p99 = summary.traffic.histogram, summary.spreads[-1].p99
    far = histogram.work > _FAR * p99
    if p99 and far.any():
        count = int(histogram.counts[far].sum())
        largest = "x".join(str(v) for v in histogram.sizes[int(histogram.work.argmax())].tolist())
        verb = "is" if count == 1 else "are"
        yield (
            f"{count:,} of {histogram.request_count:,} requests {verb} over {_FAR} times "
            f"the work of the P99, up to {largest}"
        )


def spread_table(summary: TrafficSummary) -> Table:
    table = plain_table("Sizes", ("axis",), ("min", "P50", "P90", "P99", "max"))
    table.add_column("distribution (log scale)", no_wrap=True)
    histogram = summary.traffic.histogram
    for spread in summary.spreads:
        values = (spread.min, spread.p50, spread.p90, spread.p99, spread.max)
        of = histogram.values(spread.name) if spread.name in histogram.axes else histogram.work
        table.add_row(spread.name, *(f"{v:,}" for v in values), distribution(of, histogram.counts))
    return table


def heaviest_table(summary: TrafficSummary) -> Table:
    axes = "x".join(summary.traffic.axes)
    table = plain_table(f"Heaviest sizes ({axes})", (), ("size", "count", "requests", "work"))
    for heavy in summary.heaviest:
        shares = (f"{heavy.request_share:.1%}", f"{heavy.work_share:.1%}")
        table.add_row(heavy.size, f"{heavy.count:,}", *shares)
    return table


def work_table(summary: TrafficSummary) -> Table:
    table = plain_table("Requests by work", (), ("from", "to", "requests"))
    table.add_column("", no_wrap=True)
    most = max(part.share for part in summary.work_ranges)
    for part in summary.work_ranges:
        table.add_row(
            f"{part.least:,}", f"{part.most:,}", f"{part.share:.1%}", bar(part.share / most, _BAR_WIDTH)
        )
    return table


def rejected_table(summary: TrafficSummary) -> Table:
    traffic = summary.traffic
    title = f"Rejected: {traffic.rejected_count:,} of {traffic.row_count:,} rows"
    table = plain_table(title, ("reason",), ("rows",))
    table.add_column("first")
    for reason, rejection in traffic.rejections.items():
        table.add_row(reason, f"{rejection.count:,}", rejection.first_place)
    return table


def drift_table(summary: TrafficSummary) -> Table:
    names = list(summary.periods[0].percentiles)
    heading = "/".join(f"P{percent}" for percent in PERCENTS)
    table = plain_table(f"Over time, UTC ({heading})", ("from",), ("rows", *names))
    for period in summary.periods:
        cells = (" / ".join(f"{value:,.0f}" for value in period.percentiles[name]) for name in names)
        table.add_row(f"{period.start:%Y-%m-%d %H:%M}", f"{period.count:,}", *cells)
    return table
