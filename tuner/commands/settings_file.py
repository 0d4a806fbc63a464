"""`tuner.toml` in the working directory: defaults for every option, validated whole."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tuner.commands.option_kinds import OptionKind, kinds_of
from tuner.commands.settings_values import problem_with
from tuner.errors import TunerError, nearest_name

FILE_NAME = "tuner.toml"

Commands = Mapping[str, Callable[..., None]]


def settings_of(commands: Commands, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The file's values as defaults for each command: command name to parameter name to value.

    Raises TunerError, listing every problem with its key, value and what is accepted, for a file that is no
    TOML, has unknown keys or holds values that no command would take.
    """
    file = (folder or Path()) / FILE_NAME
    if not file.is_file():
        return {}
    values = _read(file)
    by_command = {name: {kind.key: kind for kind in kinds_of(run)} for name, run in commands.items()}
    known = {key: kind for kinds in by_command.values() for key, kind in kinds.items()}
    problems = list(_problems(values, known))
    if problems:
        raise TunerError(f"{file}: {_listed(problems)}")
    return {
        name: {kinds[key].name: as_option(kinds[key], values[key]) for key in values if key in kinds}
        for name, kinds in by_command.items()
    }


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise TunerError(f"{file}: not readable as TOML ({error})") from error


def _problems(values: Mapping[str, Any], known: Mapping[str, OptionKind]) -> Iterable[str]:
    unknown = [key for key in values if key not in known]
    for key in unknown:
        yield f"unknown key {key!r}{nearest_name(key, known)}"
    for key, value in values.items():
        if key in known:
            yield from problem_with(known[key], value)
    if unknown:
        yield f"accepted keys are {', '.join(sorted(known))}"


def _listed(problems: list[str]) -> str:
    """One line whatever the values hold: a line break in one of them must not end the message."""
    return " ".join(" | ".join(problems).split())


def as_option(kind: OptionKind, value: Any) -> Any:
    """A value of TOML as the command line would have given it."""
    if not kind.is_repeatable:
        return _text(value) if kind.type is str else value
    if isinstance(value, Mapping):
        return [f"{name}={_text(part)}" for name, part in value.items()]
    return [_text(part) for part in (value if isinstance(value, list) else [value])]


def _text(value: Any) -> str:
    """A value as the command line would spell it; times become ISO."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
