"""`tuner config`: the settings that a command would run with, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.commands import options
from tuner.errors import UsageError, nearest_name

if TYPE_CHECKING:
    from tuner.commands.option_kinds import OptionKind

PASS_ON = {"ignore_unknown_options": True, "allow_extra_args": True}
"""The options of the other command pass through this one's."""


def config(
    context: typer.Context,
    command: Annotated[str, typer.Argument(help="The command to show.", metavar="COMMAND")] = "recommend",
    rest: Annotated[
        list[str] | None, typer.Argument(help="Options as they would be given to it.", metavar="OPTIONS")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print the settings of a command, and where each of them comes from.

    Example: tuner config recommend --seed 3
    """
    from tuner.commands import COMMANDS
    from tuner.commands.option_kinds import kinds_of

    if command not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise UsageError(
            f"there is no command '{command}'{nearest_name(command, COMMANDS)}; accepted are {known}"
        )
    values, sources = _parsed(context, command, [*(rest or ()), *context.args])
    rows = [
        {"key": kind.key, "value": _shown(kind, values[kind.name]), "from": _origin(kind, sources)}
        for kind in kinds_of(COMMANDS[command])
    ]
    if as_json:
        import json

        print(json.dumps({"command": command, "settings": rows}, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    from tuner.commands.console import results

    table = Table("key", "value", "from", title=f"tuner {command}", title_justify="left")
    for row in rows:
        value = row["value"]
        table.add_row(row["key"], "-" if value is None else str(value), row["from"])
    results().print(table)


def _parsed(context: typer.Context, command: str, rest: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the other command's parameters, and the name of the source of each."""
    parent: Any = context.parent
    other = parent.command.commands[command]
    try:
        inner = other.make_context(command, rest, parent=parent)
    except SystemExit as end:  # --help among the options
        raise UsageError("give the options of a run, without --help") from end
    sources = {name: inner.get_parameter_source(name) for name in inner.params}
    return dict(inner.params), {
        name: source.name if source else "DEFAULT" for name, source in sources.items()
    }


def _origin(kind: OptionKind, sources: dict[str, str]) -> str:
    return {
        "COMMANDLINE": f"option {kind.flag}",
        "ENVIRONMENT": f"variable {kind.variable}",
        "DEFAULT_MAP": "tuner.toml",
    }.get(sources[kind.name], "default")


def _shown(kind: OptionKind, value: Any) -> Any:
    """The value, without the password of a URL."""
    if kind.is_repeatable:
        return list(value or ()) or None
    if not (isinstance(value, str) and "://" in value):
        return value
    from tuner.measurements.connecting import url_without_password

    return url_without_password(value)
