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
    from rich.table import Table

    from tuner.commands.console import results

    table = Table(title=f"{len(nights)} nights", title_justify="left")
    for heading in ("night", "decided", "decision", "gain", "shift", "builds", "GPU min", "reason"):
        table.add_column(heading, justify="left" if heading in ("decision", "reason") else "right")
    for one in nights:
        numbers = (_percent(one.gain), _percent(one.shift), str(one.build_count), f"{one.gpu_s / 60:.1f}")
        table.add_row(str(one.number), one.decided_at[:16], one.decision, *numbers, one.reason)
    results().print(table)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _print_json(nights: list[HistoryEntry]) -> None:
    import dataclasses
    import json

    # The documents themselves are for `tuner diff`; a list of nights stays readable without them.
    rows = [{k: v for k, v in dataclasses.asdict(one).items() if k != "document"} for one in nights]
    print(json.dumps(rows, indent=2, ensure_ascii=False))
