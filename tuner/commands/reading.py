"""Reads the logs that a command was given: progress for a person, and every rejected row accounted for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands.console import messages, progress_bar
from tuner.commands.options import log_settings

if TYPE_CHECKING:
    from tuner.cluster.cluster import Cluster
    from tuner.model import Model
    from tuner.settings import LogSettings
    from tuner.traffic.traffic import Traffic


def read_logs(given: dict[str, Any], model: Model | None, cluster: Cluster | None = None) -> Traffic:
    """The traffic of the command's logs; `given` holds its options under their parameters' names.

    They are read here, or by the nodes of a cluster.
    Rejected rows are shown first; whether there are too many of them is decided afterwards.
    """
    from tuner.traffic.reading import refuse_too_many_rejections

    settings = log_settings(given)
    traffic = traffic_of(settings, model, quiet=given["quiet"], cluster=cluster)
    if traffic.rejections and not given["quiet"]:
        _show_rejections(traffic)
    refuse_too_many_rejections(traffic, settings)
    return traffic


def traffic_of(
    settings: LogSettings, model: Model | None, *, quiet: bool, cluster: Cluster | None = None
) -> Traffic:
    """The traffic of the logs, with a bar that says how far and how fast it goes."""
    import time

    from tuner.traffic.reading import HERE, read_traffic

    start_s = time.monotonic()
    with progress_bar("reading logs", quiet=quiet) as advance:

        def show(byte_count: int, row_count: int) -> None:
            seconds = max(time.monotonic() - start_s, 1e-3)
            rates = f"{byte_count / seconds / 1e6:,.0f} MB/s, {row_count / seconds:,.0f} rows/s"
            advance(byte_count, 0, f"{byte_count / 1e6:,.0f} MB, {row_count:,} rows ({rates})")

        return read_traffic(settings, model, show, HERE if cluster is None else cluster.map_step)


def _show_rejections(traffic: Traffic) -> None:
    from rich.table import Table

    table = Table(
        title=f"{traffic.rejected_count} of {traffic.row_count} rows rejected", title_justify="left"
    )
    table.add_column("reason")
    table.add_column("rows", justify="right")
    table.add_column("first")
    for reason, rejection in traffic.rejections.items():
        table.add_row(reason, str(rejection.count), rejection.first_place)
    messages().print(table)
