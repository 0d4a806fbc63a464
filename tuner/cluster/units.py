"""Cuts the files of a log into units of work: several whole files, or a span of one large file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.logs.log_file import LogFile
from tuner.traffic.ingest import Ingest, Task

LEAST_BYTES, MOST_BYTES = 64 << 20, 512 << 20
"""What a task reads, about: less is not worth a task, and of more a lost one costs much."""
UNITS_A_CPU = 8
"""Tasks that each CPU gets, where there is enough to read: then all of them end at about the same time."""
MOST_FILES = 256
"""Files that one task reads at most, however small they are."""


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """Files that one task reads one after the other."""

    files: tuple[tuple[LogFile, Task], ...]


@dataclass(frozen=True, slots=True)
class CutFile:
    """A file that several tasks read; `spans` are start and end in the file's own units."""

    file: LogFile
    task: Task
    spans: tuple[tuple[int, int], ...]

    @property
    def is_numbered(self) -> bool:
        """Whether each span knows the numbers of its rows in the file."""
        return self.file.spans is not None and self.file.spans.are_numbered

    @property
    def needs_numbers(self) -> bool:
        """Whether no row can be counted before its number is known: the number decides its side.

        Rows without a time are cut by the hash of file and number, and here no row has one.
        """
        rows = self.task.rows
        is_untimed = self.task.columns.time is None and rows.snapshot is None
        return not self.is_numbered and rows.splits_untimed and is_untimed


Unit = WholeFiles | CutFile


def unit_bytes_for(ingest: Ingest, cpu_count: int) -> int:
    """How much each task shall read, by how much there is and how many share it.

    Where there is little to read, as many tasks for each CPU: else all wait for the one that has one more.
    """
    total = sum(file.source.byte_count for file, _ in ingest.files)
    wanted = max(LEAST_BYTES, min(MOST_BYTES, total // (UNITS_A_CPU * cpu_count)))
    rounds = -(-total // (wanted * cpu_count))
    return -(-total // (rounds * cpu_count)) if rounds > 1 else wanted


def units_of(ingest: Ingest, unit_bytes: int) -> Iterator[Unit]:
    """Every file once, in order."""
    waiting: list[tuple[LogFile, Task]] = []
    waiting_bytes = 0
    for file, task in ingest.tasks():
        spans = _spans(file, unit_bytes)
        byte_count = file.source.byte_count
        if waiting and (spans or waiting_bytes + byte_count > unit_bytes or len(waiting) == MOST_FILES):
            yield WholeFiles(tuple(waiting))
            waiting, waiting_bytes = [], 0
        if spans:
            yield CutFile(file, task, spans)
        else:
            waiting.append((file, task))
            waiting_bytes += byte_count
    if waiting:
        yield WholeFiles(tuple(waiting))


def _spans(file: LogFile, unit_bytes: int) -> tuple[tuple[int, int], ...]:
    """Spans of about that many bytes; none for a file that is small, or that only one can read."""
    if file.spans is None or file.source.byte_count <= unit_bytes:
        return ()
    count = min(file.spans.count, round(file.source.byte_count / unit_bytes))
    if count < 2:
        return ()
    ends = [round(place * file.spans.count / count) for place in range(count + 1)]
    return tuple(itertools.pairwise(ends))
