"""`tuner.toml` in the working directory: defaults for every option, validated whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.errors import TunerError, nearest_name

FILE_NAME = "tuner.toml"


def settings_of(commands: Mapping[str, Any], folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The file's values as defaults for each command: command name to parameter name to value.

    `commands` are the commands by name, each with `params` that know their `name`, `opts` and `multiple`.
    Raises TunerError, listing every problem, for a file that is no TOML or has unknown keys.
    """
    file = (folder or Path()) / FILE_NAME
    if not file.is_file():
        return {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise TunerError(f"{file}: not readable as TOML ({error})") from error
    by_command = {name: {_key(p): p for p in command.params} for name, command in commands.items()}
    known = {key for keys in by_command.values() for key in keys} - {"help", "version"}
    unknown = sorted(set(values) - known)
    if unknown:
        problems = ", ".join(f"'{key}'{nearest_name(key, known)}" for key in unknown)
        raise TunerError(f"{file}: unknown keys {problems}; accepted are {', '.join(sorted(known))}")
    return {
        name: {keys[key].name: _as_option(file, keys[key], values[key]) for key in values if key in keys}
        for name, keys in by_command.items()
    }


def _key(parameter: Any) -> str:
    """The key of a parameter: its long flag with underscores."""
    flag = next((o for o in parameter.opts if o.startswith("--")), parameter.name)
    return str(flag).lstrip("-").replace("-", "_")


def _as_option(file: Path, parameter: Any, value: Any) -> Any:
    key = _key(parameter)
    if parameter.multiple:
        if isinstance(value, Mapping):
            return [f"{name}={_scalar(file, f'{key}.{name}', v)}" for name, v in value.items()]
        many = value if isinstance(value, list) else [value]
        return [str(_scalar(file, key, v)) for v in many]
    return _scalar(file, key, value)


def _scalar(file: Path, key: str, value: Any) -> str | int | float | bool:
    if isinstance(value, str | int | float | bool):
        return value
    raise TunerError(f"{file}: key '{key}' holds {value!r}; text, a number, true or false is accepted")
