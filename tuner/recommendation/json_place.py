"""Reads JSON strictly, and typed values out of it that know their place, so that every problem has a name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.axes import LARGEST_DIMENSION
from tuner.errors import TunerError

_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a JSON file with its path in it, such as `profiles[0].min.batch`."""

    value: Any
    file: str
    path: str = ""

    def wrong(self, accepted: str) -> TunerError:
        """The error for this place: what stands there and what is accepted."""
        shown = json.dumps(self.value, ensure_ascii=False)
        if len(shown) > _LONGEST_SHOWN:
            shown = shown[:_LONGEST_SHOWN] + "..."
        return TunerError(f"{self.file}: {self.path or 'the document'} is {shown}; {accepted}")

    def entries(self) -> dict[str, Place]:
        """The members of an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object is accepted")
        dot = "." if self.path else ""
        return {key: Place(v, self.file, f"{self.path}{dot}{key}") for key, v in self.value.items()}

    def items(self) -> list[Place]:
        """The members of a list."""
        if not isinstance(self.value, list):
            raise self.wrong("a list is accepted")
        return [Place(v, self.file, f"{self.path}[{i}]") for i, v in enumerate(self.value)]

    def key(self, name: str) -> Place:
        """A member that has to be there."""
        entries = self.entries()
        if name not in entries:
            where = f"{self.path} " if self.path else ""
            raise TunerError(f"{self.file}: {where}lacks '{name}'; it has {', '.join(entries) or 'nothing'}")
        return entries[name]

    def optional(self, name: str) -> Place | None:
        """A member, or None where it is absent or null."""
        found = self.entries().get(name)
        return None if found is None or found.value is None else found

    def whole(self, least: int = 0) -> int:
        """A whole number from `least` to the largest dimension."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_DIMENSION:
            raise self.wrong(f"a whole number from {least} to {LARGEST_DIMENSION} is accepted")
        return value

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            raise self.wrong("a number is accepted")
        return float(self.value)

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.wrong("text is accepted")
        return self.value


def read_json(path: str | Path) -> Place:
    """A JSON file whose top is an object.

    Raises TunerError for a missing or unreadable file, for one that is no JSON, for NaN and Infinity, and
    for an object that names a key twice: a reader would silently take the last one.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TunerError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise TunerError(f"{file}: is no JSON text ({error.reason} at byte {error.start})") from error
    return parse_json(text, str(file))


def parse_json(text: str, name: str) -> Place:
    """The same for a text; `name` is what errors call it."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise TunerError(f"{name}: names the key '{key}' twice in one object; keep one of them")
            found[key] = value
        return found

    def refuse(constant: str) -> float:
        raise TunerError(f"{name}: holds {constant}, which is no JSON number")

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise TunerError(
            f"{name}: is no JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            "write the document again with tuner recommend"
        ) from error
    except (RecursionError, ValueError) as error:
        raise TunerError(f"{name}: is no JSON that can be read ({type(error).__name__}: {error})") from error
    if not isinstance(value, dict):
        raise TunerError(f"{name}: holds no JSON object, so it is no document of tuner")
    return Place(value, name)
