"""Whether log files stayed as they were while they were read: a night must not rest on half of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from tuner.logs.sources import Source

Mark = tuple[int, int, int]
"""Inode, bytes and time of the last change (ns) of a file on this machine."""


def marks_of(sources: Iterable[Source]) -> dict[str, Mark]:
    """The state of each file on this machine, by its path; files elsewhere have none."""
    found = {source.path: _mark(source.path) for source in sources}
    return {path: mark for path, mark in found.items() if mark is not None}


def changed_since(before: Mapping[str, Mark]) -> list[str]:
    """A sentence for each file that is not as it was: one that grew is normal, others are not."""
    told = []
    for path, mark in before.items():
        now = _mark(path)
        if now == mark:
            continue
        if now is not None and now[0] == mark[0] and now[1] > mark[1]:
            told.append(f"{path} grew while it was read; what was appended may or may not be counted")
        else:
            told.append(
                f"{path} was replaced or cut while it was read, so its counts may be neither the old nor the "
                "new ones; read it again when it is written no more"
            )
    return told


def _mark(path: str) -> Mark | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
