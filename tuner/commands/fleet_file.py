"""`fleet.toml`: the jobs of a night, each with the keys of `tuner recommend`, checked before any work."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuner.commands.option_kinds import OptionKind, kinds_of
from tuner.commands.settings_file import as_option
from tuner.commands.settings_values import problem_with
from tuner.errors import TunerError, nearest_name

_OWN: Mapping[str, tuple[Any, Any, str]] = {
    "gpu_hours": ((int, float), 0, "a number above 0"),
    "out": (str, "", "the name of a folder"),
    "first_builds": (int, 0, "a whole number from 1 up"),
    "more_builds": (int, 0, "a whole number from 1 up"),
}
"""Keys of the fleet itself: their type, what they are above, and that in words."""
_NOT_FOR_JOBS = ("ray", "out", "report", "to", "to_file", "json", "quiet", "verbose", "rule", "builds")
"""Keys that the fleet decides for all of its jobs."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A night: GPU hours to spend, the folder of results, and each job's options by their parameters' names.

    A job begins with `first_builds` and gets `more_builds` at a time.
    """

    gpu_hours: float
    folder: Path
    jobs: Mapping[str, dict[str, Any]]
    first_builds: int = 6
    more_builds: int = 6


def read_fleet(path: str, command: Any) -> Fleet:
    """The fleet in a file; `command` is the one whose options the jobs may set.

    Raises TunerError that lists every problem.
    """
    told = _read(path)
    kinds = {kind.key: kind for kind in kinds_of(command) if kind.key not in _NOT_FOR_JOBS}
    problems = list(_problems(told, kinds))
    if problems:
        raise TunerError(f"{path}: {' '.join(' | '.join(problems).split())}")
    folder = Path(told.get("out", "fleet"))
    defaults = {kind.name: kind.default for kind in kinds_of(command)}
    shared = told.get("defaults", {})
    jobs = {}
    for name, table in told["job"].items():
        values = {**shared, **table}
        options = {kinds[key].name: as_option(kinds[key], value) for key, value in values.items()}
        store = f"sqlite:///{folder / name}.db"
        own = {"store": store, "out": str(folder / f"{name}.json"), "quiet": True}
        jobs[name] = {**defaults, **own, **options}
    _refuse_shared_stores(path, jobs)
    numbers = {key: told[key] for key in ("first_builds", "more_builds") if key in told}
    return Fleet(gpu_hours=float(told["gpu_hours"]), folder=folder, jobs=jobs, **numbers)


def _read(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TunerError(
            f"fleet {path}: cannot be read ({error.strerror}); give a file like fleet.toml"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise TunerError(f"fleet {path}: not readable as TOML ({error})") from error


def _problems(told: Mapping[str, Any], kinds: Mapping[str, OptionKind]) -> Iterator[str]:
    for key, value in told.items():
        if key in ("defaults", "job"):
            continue
        if key not in _OWN:
            yield f"unknown key {key!r}{nearest_name(key, [*_OWN, 'defaults', 'job'])}"
        elif isinstance(value, bool) or not isinstance(value, _OWN[key][0]) or value <= _OWN[key][1]:
            yield f"{key} = {value!r}: {_OWN[key][2]} is accepted"
    if "gpu_hours" not in told:
        yield "gpu_hours is missing; say how many GPU hours the night may take, like gpu_hours = 4"
    jobs = told.get("job")
    if not isinstance(jobs, dict) or not jobs:
        yield "there is no job; write a table [job.NAME] for each model and kind of GPU"
        jobs = {}
    for name, table in {"defaults": told.get("defaults", {}), **jobs}.items():
        yield from _problems_of_job(name, table, kinds)


def _problems_of_job(name: str, table: Any, kinds: Mapping[str, OptionKind]) -> Iterator[str]:
    if not isinstance(table, dict) or not _NAME.fullmatch(name):
        yield f"job {name!r}: a table [job.NAME] is accepted, its name of letters, digits, '.', '_' and '-'"
        return
    for key, value in table.items():
        if key not in kinds:
            yield f"{name}: unknown key {key!r}{nearest_name(key, kinds)}"
        else:
            yield from (f"{name}: {problem}" for problem in problem_with(kinds[key], value))


def _refuse_shared_stores(path: str, jobs: Mapping[str, dict[str, Any]]) -> None:
    # What a job spends is read from its store.
    seen: dict[str, str] = {}
    for name, given in jobs.items():
        other = seen.setdefault(given["store"], name)
        if other != name:
            raise TunerError(
                f"{path}: the jobs {other} and {name} share a store; leave `store` out, and each has its own"
            )
