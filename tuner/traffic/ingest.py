"""Counts the rows of all files, several pieces at a time; a file that breaks on the way does not count."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from tuner.errors import DamagedFile
from tuner.logs.clean import Rules, clean_rows
from tuner.logs.columns import FileColumns
from tuner.logs.log_file import LogFile, Piece, Refused, TimeWindow, Wanted
from tuner.traffic.counted import Counted, FileRows
from tuner.traffic.runnable import Runnable
from tuner.traffic.tally import MOST_CELLS, WIDTHS_US, Tally, level_for

Progress = Callable[[int, int], None]
"""Called with the bytes and the rows done so far."""

_MOST_THREADS = 8
_LARGE_ROW_COUNT = 16 * MOST_CELLS


@dataclass(frozen=True, slots=True)
class Task:
    """What counting a piece needs besides the piece; `level` is that of the buckets to start with."""

    columns: FileColumns
    rules: Rules
    rows: FileRows
    level: int = 0

    @property
    def wanted(self) -> Wanted:
        columns = self.columns
        sizes = columns.sizes(bound_axis=self.rules.bound_axis)
        bucket_us = WIDTHS_US[self.level] if self.level and columns.time_is_only_time else 0
        return Wanted(columns.names, columns.time, columns.time_unit, self.rows.window, sizes, bucket_us)


@dataclass(frozen=True, slots=True)
class Ingest:
    """The files with what their columns mean, and what holds for all rows."""

    files: tuple[tuple[LogFile, FileColumns], ...]
    rules: Rules
    runnable: Runnable
    window: TimeWindow
    splits_untimed: bool
    has_snapshots: bool = False

    def wanted(self, columns: FileColumns) -> Wanted:
        return Wanted(columns.names, columns.time, columns.time_unit, self.window)

    def tasks(self) -> Iterator[tuple[LogFile, Task]]:
        level = start_level(self)
        for place, (file, columns) in enumerate(self.files):
            rows = FileRows(
                file.source.name,
                file.source.base_name,
                self.runnable,
                self.window,
                self.splits_untimed,
                place if self.has_snapshots else None,
            )
            yield file, Task(columns, self.rules, rows, level)


CountFiles = Callable[[Ingest, Progress | None], Counted]
"""Counts the rows of all files, on this machine or on many."""


def start_level(ingest: Ingest) -> int:
    """The level of buckets to start at: 0, unless statistics show a log so large that it needs buckets."""
    row_count = 0
    spans: list[tuple[int, int]] = []
    for file, columns in ingest.files:
        span = file.time_span(ingest.wanted(columns)) if file.time_span is not None else None
        if span is not None:
            spans.append(span)
            row_count += file.row_count or 0
    if row_count < _LARGE_ROW_COUNT:
        return 0
    return level_for(min(first for first, _ in spans), max(last for _, last in spans))


def count_files(ingest: Ingest, progress: Progress | None = None) -> Counted:
    """Everything counted; memory is bounded by the tally and a few blocks a thread."""
    total = Counted(Tally(ingest.rules.axes))
    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    pool = _Pool(threads)
    try:
        for counted in pool.by_file(ingest):
            total.merge(counted)
            if progress is not None:
                progress(total.byte_count, total.row_count)
    finally:
        pool.close()
    return total


class _Pool:
    """Worker threads with a bounded queue; order of files and pieces is kept."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads)
        self._most_waiting = 2 * threads
        self._stop = threading.Event()

    def close(self) -> None:
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def by_file(self, ingest: Ingest) -> Iterator[Counted]:
        """What each file counts for, in order."""
        for file, task in ingest.tasks():
            try:
                yield count_file(file, task, self._pieces)
            except DamagedFile as error:
                broken = Counted(Tally(ingest.rules.axes))
                broken.reject_file(error)
                yield broken

    def _pieces(self, pieces: Iterator[Piece], task: Task) -> Counted:
        counted = Counted(Tally(task.rules.axes, task.level))
        waiting: deque[Future[Counted]] = deque()
        try:
            for piece in pieces:
                waiting.append(self._pool.submit(self._count, piece, task, counted.tally.level))
                if len(waiting) >= self._most_waiting:
                    counted.merge(waiting.popleft().result())
            while waiting:
                counted.merge(waiting.popleft().result())
        finally:
            for future in waiting:
                future.cancel()
        return counted

    def _count(self, piece: Piece, task: Task, level: int) -> Counted:
        return count_piece(piece, task, level, self._stop.is_set)


def count_file(
    file: LogFile, task: Task, count_pieces: Callable[[Iterator[Piece], Task], Counted]
) -> Counted:
    """Count a file by the first of its fast readers that reads it, else by the careful one."""
    for fast_pieces in file.fast_pieces:
        try:
            counted = count_pieces(fast_pieces(task.wanted), task)
        except Refused:
            continue
        if not counted.uses_numbers or file.has_fast_numbers is None:
            return counted
        if file.has_fast_numbers(counted.row_count):
            return counted
        break
    return count_pieces(file.pieces(task.wanted), task)


def count_piece(
    piece: Piece, task: Task, level: int = 0, is_stopped: Callable[[], bool] = lambda: False
) -> Counted:
    """Count one piece in buckets of the level that the file has reached, so that few cells come back."""
    counted, exact = _count_blocks(piece, task, level, is_stopped)
    if exact is not None and counted.used_row_count < counted.row_count:
        # The first or the last time may be that of a row which is not used.
        counted, _ = _count_blocks(exact, task, level, is_stopped)
    return counted


def _count_blocks(
    piece: Piece, task: Task, level: int, is_stopped: Callable[[], bool]
) -> tuple[Counted, Piece | None]:
    """What the blocks count for, and the piece with all times where the blocks know only their ends."""
    counted = Counted(Tally(task.rules.axes, level))
    exact = None
    for block in piece():
        if is_stopped():
            break
        rows = None if block.is_outside_window else clean_rows(block, task.columns, task.rules)
        counted.add_block(block, rows, task.rows)
        exact = block.exact
    return counted, exact
