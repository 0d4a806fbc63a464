"""What the nights in a store look like: what each decided and why, and what they cost together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.measurements.history import HistoryEntry
from tuner.report.look import DIM, GOOD, UNKNOWN, gain_text, plain_table


def history_view(nights: Sequence[HistoryEntry]) -> RenderableType:
    return Group(nights_table(nights), *(Text(line) for line in sentences(nights)))


def nights_table(nights: Sequence[HistoryEntry]) -> Table:
    table = plain_table("Nights", (), ("night", "decided (UTC)"))
    table.add_column("decision")
    for heading in ("gain", "shift", "builds", "GPU min"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("reason")
    for one in nights:
        decision = Text(one.decision, style=GOOD if one.decision == "change" else DIM)
        shift = UNKNOWN if one.shift is None else f"{one.shift:.1%}"
        numbers = (gain_text(one.gain), shift, str(one.build_count), f"{one.gpu_s / 60:.1f}")
        table.add_row(str(one.number), one.decided_at[:16], decision, *numbers, one.reason)
    return table


def sentences(nights: Sequence[HistoryEntry]) -> Iterator[str]:
    changes = sum(one.decision == "change" for one in nights)
    builds = sum(one.build_count for one in nights)
    minutes = sum(one.gpu_s for one in nights) / 60
    yield f"{len(nights)} nights, {changes} changes, {builds} builds, {minutes:.1f} GPU minutes"
