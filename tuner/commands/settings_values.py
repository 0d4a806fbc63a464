"""What each key of `tuner.toml` accepts, checked before anything is read or built."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tuner.commands.option_kinds import OptionKind
from tuner.errors import TunerError, nearest_name

PAIRS = ("axis", "shape", "align", "cap")
"""Keys that may be a table of names to values."""
WHOLE_NUMBER_PAIRS = ("align", "cap")

_LONGEST_SHOWN = 60


def problem_with(kind: OptionKind, value: Any) -> Iterator[str]:
    """Every problem of one key: what stands there and what is accepted; nothing where it is fine."""
    if kind.is_repeatable:
        yield from _problem_with_many(kind, value)
        return
    accepted = _wrong_type(kind, value)
    if accepted is None and kind.key in CHOICES:
        names = CHOICES[kind.key]()
        if value not in names:
            accepted = f"accepted are {', '.join(names)}{nearest_name(str(value), names)}"
    if accepted is not None:
        yield f"{kind.key} = {_shown(value)}: {accepted}"
        return
    if kind.key in FORMS:
        try:
            FORMS[kind.key](_text(value))
        except TunerError as error:
            yield f"{kind.key} = {_shown(value)}: {error}"


def _problem_with_many(kind: OptionKind, value: Any) -> Iterator[str]:
    if kind.key in PAIRS and isinstance(value, Mapping):
        for name, part in value.items():
            accepted = _wrong_pair(kind.key, part)
            if accepted is not None:
                yield f"{kind.key}.{name} = {_shown(part)}: {accepted}"
        return
    table = f", or a table [{kind.key}]," if kind.key in PAIRS else ""
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, str) or (kind.key in PAIRS and "=" not in part):
            form = " like 'name=value'" if kind.key in PAIRS else ""
            yield f"{kind.key} = {_shown(part)}: text{form}{table} is accepted, or a list of texts"


def _wrong_pair(key: str, value: Any) -> str | None:
    if key in WHOLE_NUMBER_PAIRS:
        is_fine = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return None if is_fine else "a whole number from 1 up is accepted"
    is_fine = isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
    return None if is_fine else "a column or a number is accepted"


def _wrong_type(kind: OptionKind, value: Any) -> str | None:
    if kind.type is bool:
        return None if isinstance(value, bool) else "true or false is accepted"
    if kind.type in (int, float):
        return _wrong_number(kind, value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float, datetime.date)):
        return "text is accepted"
    return None


def _wrong_number(kind: OptionKind, value: Any) -> str | None:
    numbers = (int,) if kind.type is int else (int, float)
    inside = (
        isinstance(value, numbers)
        and not isinstance(value, bool)
        and not (kind.least is not None and value < kind.least)
        and not (kind.most is not None and value > kind.most)
        and value == value  # NaN equals nothing
    )
    if inside:
        return None
    bounds = "" if kind.least is None else f" from {kind.least:g}"
    bounds += "" if kind.most is None else f" to {kind.most:g}"
    return f"a {'whole ' if kind.type is int else ''}number{bounds} is accepted"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


# The tables of accepted names belong to their rooms, which import numpy and more: they are asked only when
# the key is there.
def _log_kinds() -> Iterable[str]:
    from tuner.settings import LOG_KINDS

    return LOG_KINDS


def _time_units() -> Iterable[str]:
    from tuner.logs.times import TIME_UNITS

    return tuple(TIME_UNITS)


def _objectives() -> Iterable[str]:
    from tuner.replay.objective import OBJECTIVES

    return tuple(OBJECTIVES)


def _weights() -> Iterable[str]:
    from tuner.replay.objective import WEIGHTS

    return WEIGHTS


def _modes() -> Iterable[str]:
    from tuner.measurements.measurement import Mode

    return tuple(mode.value for mode in Mode)


def _uncovered_actions() -> Iterable[str]:
    from tuner.replay.coverage import UNCOVERED_ACTIONS

    return UNCOVERED_ACTIONS


def _precisions() -> Iterable[str]:
    from tuner.engines.builder import PRECISIONS

    return tuple(PRECISIONS)


def _rules() -> Iterable[str]:
    from tuner.profiles.rules import RULE_NAMES

    return RULE_NAMES


def _samplers() -> Iterable[str]:
    from tuner.search.samplers import SAMPLERS

    return tuple(SAMPLERS)


CHOICES: Mapping[str, Callable[[], Iterable[str]]] = {
    "log_kind": _log_kinds,
    "time_unit": _time_units,
    "objective": _objectives,
    "weight": _weights,
    "mode": _modes,
    "uncovered": _uncovered_actions,
    "precision": _precisions,
    "rule": _rules,
    "sampler": _samplers,
}
"""Keys whose value is one of a few names."""


def _share(text: str) -> None:
    from tuner.commands.options import share

    share("a share", text)


def _time(text: str) -> None:
    from tuner.logs.times import parse_time

    parse_time(text, "the time")


def _bytes(text: str) -> None:
    from tuner.commands.engine_options import byte_count

    byte_count("a size", text)


def _store_url(text: str) -> None:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        make_url(text)
    except (ArgumentError, ValueError) as error:
        raise TunerError("a SQLAlchemy URL like sqlite:///tuner.db is accepted") from error


FORMS: Mapping[str, Callable[[str], None]] = {
    "max_rejected": _share,
    "max_shift": _share,
    "max_uncovered": _share,
    "min_gain": _share,
    "since": _time,
    "until": _time,
    "workspace": _bytes,
    "workspace_cap": _bytes,
    "memory_limit": _bytes,
    "store": _store_url,
}
"""Keys whose text has a form; the function raises TunerError saying which."""
