"""The text of a first `tuner.toml`: what was found in model and logs, and every other key as a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tuner.commands.option_kinds import OptionKind

LEFT_OUT = ("rule", "json", "quiet", "verbose", "force")
"""Options that are for one run and not for every night."""
_COMMENT_WIDTH = 100
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def settings_text(
    kinds: Sequence[OptionKind], found: Mapping[str, Any], reasons: Mapping[str, str], heading: str
) -> str:
    """TOML with `found` as values, each with its reason, and all other keys commented out with defaults.

    A value that is a mapping becomes a table; tables stand last, as TOML wants it.
    """
    found = {key: value for key, value in found.items() if value not in ({}, [])}
    lines = [f"# {heading}", "# An option beats its variable TUNER_..., which beats this file.", ""]
    plain = [kind for kind in kinds if kind.key not in LEFT_OUT]
    for panel in dict.fromkeys(kind.panel for kind in plain):
        lines += [f"# -- {panel or 'Other'} --", ""]
        for kind in plain:
            if kind.panel == panel and not isinstance(found.get(kind.key), Mapping):
                lines += [*_entry(kind, found, reasons), ""]
    for key, value in found.items():
        if isinstance(value, Mapping):
            lines += [f"[{key}]", *_table(key, value, reasons), ""]
    return "\n".join(lines).rstrip() + "\n"


def _entry(kind: OptionKind, found: Mapping[str, Any], reasons: Mapping[str, str]) -> Iterable[str]:
    yield from _comment(kind.text)
    if kind.key in found:
        if kind.key in reasons:
            yield from _comment(f"Found: {reasons[kind.key]}.")
        yield f"{kind.key} = {_value(found[kind.key])}"
    elif kind.is_repeatable:
        yield f"# {kind.key} = []"
    elif kind.default is None:
        yield f"# {kind.key} ="
    else:
        yield f"# {kind.key} = {_value(kind.default)}"


def _table(key: str, values: Mapping[str, Any], reasons: Mapping[str, str]) -> Iterable[str]:
    for name, value in values.items():
        reason = reasons.get(f"{key}.{name}")
        if reason:
            yield from _comment(f"{reason}.")
        yield f"{_name(name)} = {_value(value)}"


def _comment(text: str) -> Iterable[str]:
    words, line = text.split(), "#"
    for word in words:
        if len(line) + 1 + len(word) > _COMMENT_WIDTH:
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _name(text: str) -> str:
    return text if _BARE.fullmatch(text) else _value(text)


def _value(value: Any) -> str:
    # JSON's texts, numbers, booleans and lists are TOML's too, but for one character that it leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
