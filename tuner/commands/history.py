"""`tuner history`: what each night decided, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.commands import options

if TYPE_CHECKING:
    from tuner.measurements.history import HistoryEntry


def history(
    store: options.StoreUrl = options.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """List the nights in the store: decisions, gains, drift, builds and GPU minutes.

    Example: tuner history --store sqlite:///tuner.db
    """
    from tuner.commands.scoring import existing_store
    from tuner.measurements.history import entries

    with existing_store(store) as opened:
        nights = entries(opened)
    if as_json:
        _print_json(nights)
        return
    from tuner.commands.console import results
    from tuner.report.history_view import history_view

    results().print(history_view(nights))


def _print_json(nights: list[HistoryEntry]) -> None:
    import dataclasses
    import json

    # The documents themselves are for `tuner diff`; a list of nights stays readable without them.
    rows = [{k: v for k, v in dataclasses.asdict(one).items() if k != "document"} for one in nights]
    print(json.dumps(rows, indent=2, ensure_ascii=False))
