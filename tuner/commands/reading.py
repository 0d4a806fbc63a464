"""Reads the logs that a command was given, with a progress bar for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands.console import progress_bar
from tuner.commands.options import log_settings

if TYPE_CHECKING:
    from tuner.model import Model
    from tuner.traffic.traffic import Traffic


def read_logs(given: dict[str, Any], model: Model | None) -> Traffic:
    """The traffic of the command's logs; `given` holds its options under their parameters' names."""
    from tuner.traffic.reading import read_traffic

    settings = log_settings(given)
    with progress_bar("reading logs", quiet=given["quiet"]) as advance:
        return read_traffic(settings, model, lambda done, rows: advance(done, 0, f"{rows:,} rows"))
