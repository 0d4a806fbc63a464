"""What each option of a command is, read from the command's own annotations: type, bounds, key, variable."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VARIABLE_PREFIX = "TUNER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionKind:
    """An option: `name` is the parameter, `flag` the long flag, `text` its help.

    `least` and `most` bound a number, None where it has no bound.
    """

    name: str
    flag: str
    type: type
    is_repeatable: bool
    text: str = ""
    panel: str | None = None
    default: Any = None
    least: float | None = None
    most: float | None = None

    @property
    def key(self) -> str:
        """The key in `tuner.toml`: the flag with underscores."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def variable(self) -> str:
        return VARIABLE_PREFIX + self.key.upper()


def kinds_of(command: Callable[..., None]) -> list[OptionKind]:
    """The options of a command in the order of its parameters; positional arguments are left out."""
    hints = typing.get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters
    found = []
    for name, hint in hints.items():
        marks: tuple[Any, ...] = getattr(hint, "__metadata__", ())
        flags = [flag for mark in marks for flag in _flags(mark)]
        if not flags:
            continue
        plain, is_repeatable = _plain_type(typing.get_args(hint)[0])
        mark = marks[0]
        found.append(
            OptionKind(
                name=name,
                flag=flags[0].partition("/")[0],
                type=plain,
                is_repeatable=is_repeatable,
                text=str(getattr(mark, "help", "") or ""),
                panel=getattr(mark, "rich_help_panel", None),
                default=parameters[name].default,
                least=getattr(mark, "min", None),
                most=getattr(mark, "max", None),
            )
        )
    return found


def _flags(mark: Any) -> list[str]:
    # In an annotation the first flag stands where a default would: typer moves it only when it runs.
    texts = (getattr(mark, "default", None), *(getattr(mark, "param_decls", None) or ()))
    return [text for text in texts if isinstance(text, str) and text.startswith("--")]


def _plain_type(hint: Any) -> tuple[type, bool]:
    """`list[str] | None` is a repeatable str, `int | None` an int."""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is list:
        return parts[0], True
    return _plain_type(parts[0]) if parts else (hint, False)
