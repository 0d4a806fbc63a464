"""Servers side by side in a terminal: response times and capacity of the batchers that were compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tuner.recommendation.batched import Batching, ServedBy
from tuner.replay.response import QueueReplay, ResponseLimit
from tuner.report.look import LOUD, UNKNOWN, plain_table


def batching_view(batching: Batching) -> RenderableType:
    """The table of servers and the sentences that it needs; the recommended server is in bold."""
    return Group(servers_table(batching), *(Text(line) for line in sentences(batching)))


def servers_table(batching: Batching) -> Table:
    """Every server at the same arrivals; no response time stands where the queue grows without bound."""
    return served_table(batching.others, batching.chosen, batching.arrival_rate_rps, batching.limit)


def served_table(
    servers: Sequence[ServedBy], chosen: ServedBy, rate_rps: float, limit: ResponseLimit | None
) -> Table:
    """A row a server, the chosen one in bold."""
    under = f"; capacity under {limit}" if limit else ""
    table = plain_table(
        f"Response times in ms at {rate_rps:.4g} requests/s{under}",
        ("server", "opts", "batcher"),
        ("P50", "P99", "mean batch", "busy"),
    )
    table.add_column("capacity, req/s", justify="right")
    for served in servers:
        table.add_row(*_cells(served), style=LOUD if served is chosen else "")
    return table


def _cells(served: ServedBy) -> tuple[str, ...]:
    played, found = served.replay, served.capacity
    opts = " ".join(profile.opt.short for profile in served.profiles)
    times = [_ms(played.response_ms.get(percent)) for percent in (50.0, 99.0)]
    if played.is_overloaded:
        times = ["overloaded", "overloaded"]
    carried = UNKNOWN
    if found is not None:
        low, high = found.interval_rps
        carried = f"{found.rate_rps:.5g} ({low:.5g} to {high:.5g})"
    return (
        served.name,
        opts if served.judged_at is None else f"{opts} ({served.judged_at})",
        str(served.batcher),
        *times,
        f"{played.mean_batch:.2f}",
        f"{played.busy_share:.1%}",
        carried,
    )


def _ms(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.4g}"


def charged_lines(played: QueueReplay) -> Iterator[str]:
    """What changes cost and how often there were any; nothing where they are free."""
    if played.charged is not None:
        yield f"charged by order on each context: {played.charged}"


def sentences(batching: Batching) -> Iterator[str]:
    """How the set came to fit its batches, and how the replay compares with the log."""
    yield f"recommended: {batching.chosen.name}, {batching.chosen.batcher}"
    yield (
        f"profiles and batches {'settled' if batching.outcome == 'converged' else 'took turns'} after "
        f"{batching.iterations} replays; {batching.trial_count} batchers tried for {batching.objective}"
    )
    yield from charged_lines(batching.chosen.replay)
    if batching.calibration is None:
        yield "calibration: the log has no response times of a deployed set to compare the replay with"
        return
    pairs = ", ".join(
        f"P{percent:g} {observed:.4g} logged, {replayed:.4g} replayed"
        for percent, observed, replayed in batching.calibration.quantiles
    )
    yield f"calibration in ms: {pairs}"
