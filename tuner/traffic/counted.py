"""What was counted so far: the tally of sizes with the account of every row. Mergeable, like the tally."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tuner.errors import DamagedFile
from tuner.logs import reasons
from tuner.logs.block import Block
from tuner.logs.clean import CleanRows
from tuner.logs.reasons import reason_name
from tuner.logs.times import NO_TIME, Times
from tuner.traffic.counting import Span, count_rows, span_of
from tuner.traffic.runnable import Runnable
from tuner.traffic.tally import UNTIMED_HOLDOUT, UNTIMED_TUNE, Tally
from tuner.traffic.traffic import HOLDOUT_SHARE

Int64Array = NDArray[np.int64]
Mask = NDArray[np.bool_]

OUTSIDE_WINDOW = "outside --since and --until"
ZERO_COUNT = "with a count of zero"

Place = tuple[str, int, str]
"""A row by its file's name and its number there, from 0 (-1: the file as a whole), and what it held."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """Which file rows come from, and how they are counted.

    `snapshot` stands for the time of all rows where each file is one snapshot of counters.
    """

    name: str
    base_name: str
    runnable: Runnable
    window: tuple[int | None, int | None] = (None, None)
    splits_untimed: bool = True
    snapshot: int | None = None


@dataclass(slots=True)
class Counted:
    """Rows read are rows used, rejected and skipped; `used` says how many of them count."""

    tally: Tally
    row_count: int = 0
    used_row_count: int = 0
    byte_count: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    first_places: dict[str, Place] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    padded: dict[str, int] = field(default_factory=dict)
    start_us: int | None = None
    end_us: int | None = None
    time_units: set[str] = field(default_factory=set)
    has_zoneless: bool = False
    unreadable_time_count: int = 0
    untimed_count: int = 0
    has_hashed: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def uses_numbers(self) -> bool:
        """Whether numbers of rows matter: where one was rejected, on which side an untimed one fell."""
        return bool(self.rejected) or self.has_hashed

    def reject(self, reason: str, count: int, place: Place) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + count
        self.first_places[reason] = min(place, self.first_places.get(reason, place))

    def reject_file(self, error: DamagedFile) -> None:
        """A file that cannot be read counts as one row, so that the account of rows adds up."""
        self.row_count += 1
        self.reject("damaged", 1, (error.name, -1, ""))
        self.problems.append(str(error))

    def merge(self, other: Counted) -> None:
        self.tally.merge(other.tally)
        self.row_count += other.row_count
        self.used_row_count += other.used_row_count
        self.byte_count += other.byte_count
        for reason, count in other.rejected.items():
            self.reject(reason, count, other.first_places[reason])
        _add_up(self.skipped, other.skipped)
        _add_up(self.padded, other.padded)
        self._widen(other.start_us, other.end_us)
        self.time_units |= other.time_units
        self.has_zoneless |= other.has_zoneless
        self.unreadable_time_count += other.unreadable_time_count
        self.untimed_count += other.untimed_count
        self.has_hashed |= other.has_hashed
        self.problems += other.problems

    def _widen(self, start_us: int | None, end_us: int | None) -> None:
        if start_us is not None and end_us is not None:
            self.start_us = start_us if self.start_us is None else min(self.start_us, start_us)
            self.end_us = end_us if self.end_us is None else max(self.end_us, end_us)

    def add_block(self, block: Block, rows: CleanRows | None, file: FileRows) -> None:
        """Count a block; `rows` is None for one that was skipped unread."""
        self.row_count += block.row_count
        self.byte_count += block.byte_count
        if rows is None:
            _add_up(self.skipped, {OUTSIDE_WINDOW: block.row_count})
            return
        if rows.times is not None:
            # Of all rows, used or not: what is told must not depend on how the rows were cut into blocks.
            self.time_units |= rows.times.units
            self.has_zoneless |= rows.times.has_zoneless
            self.unreadable_time_count += rows.times.unreadable_count
        keep = self._in_window(rows.times, file)
        keep = self._without_rejected(rows, keep, (file.name, block))
        keep = self._without_zero_counts(rows, keep)
        self._count(rows, keep, (file, block))

    def _in_window(self, times: Times | None, file: FileRows) -> Mask | None:
        since, until = file.window
        if times is None or (since is None and until is None):
            return None
        keep: Mask = times.us != NO_TIME
        if since is not None:
            keep &= times.us >= since
        if until is not None:
            keep &= times.us < until
        _add_up(self.skipped, {OUTSIDE_WINDOW: int(len(keep) - keep.sum())})
        return keep

    def _without_rejected(self, rows: CleanRows, keep: Mask | None, source: tuple[str, Block]) -> Mask | None:
        if rows.codes is None:
            return keep
        codes = rows.codes if keep is None else np.where(keep, rows.codes, reasons.FINE)
        self._reject_codes(codes, source)
        fine = np.asarray(rows.codes == reasons.FINE)
        return fine if keep is None else fine & keep

    def _reject_codes(self, codes: reasons.ReasonCodes, source: tuple[str, Block]) -> None:
        name, block = source
        for code in np.unique(codes):
            if code != reasons.FINE:
                here = codes == code
                self.reject(
                    reason_name(int(code)), int(here.sum()), (name, block.row_number(int(here.argmax())), "")
                )

    def _without_zero_counts(self, rows: CleanRows, keep: Mask | None) -> Mask | None:
        if rows.counts is None or (len(rows.counts) and rows.counts.min() > 0):
            return keep
        positive = np.asarray(rows.counts > 0)
        zero = ~positive if keep is None else keep & ~positive
        _add_up(self.skipped, {ZERO_COUNT: int(zero.sum())})
        return positive if keep is None else positive & keep

    def _count(self, rows: CleanRows, keep: Mask | None, source: tuple[FileRows, Block]) -> None:
        file, block = source
        numbers = None
        if keep is not None and not keep.all():
            numbers = np.flatnonzero(keep)
        sizes = rows.sizes if numbers is None else tuple(values[numbers] for values in rows.sizes)
        bad = file.runnable.cannot_run(sizes)
        if bad is not None:
            places = np.arange(rows.row_count) if numbers is None else numbers
            first = int(places[bad][0])
            size = file.runnable.text(tuple(int(values[first]) for values in rows.sizes))
            self.reject("model_cannot_run", int(bad.sum()), (file.name, block.row_number(first), size))
            numbers = places[~bad]
            sizes = tuple(values[numbers] for values in rows.sizes)
        for name, changed in rows.padded.items():
            _add_up(self.padded, {name: int((changed if numbers is None else changed[numbers]).sum())})
        row_count = rows.row_count if numbers is None else len(numbers)
        self.used_row_count += row_count
        if row_count:
            weights = rows.counts if rows.counts is None or numbers is None else rows.counts[numbers]
            marks, span = self._marks(rows, numbers, source)
            if span is not None:
                self.tally.add(count_rows(marks, self.tally.width_us, sizes, weights, span))
            else:
                self._add_mixed(marks, sizes, weights)

    def _marks(
        self, rows: CleanRows, numbers: Int64Array | None, source: tuple[FileRows, Block]
    ) -> tuple[Int64Array, Span | None]:
        """A time for each used row, or the side of the hash that a row without a time falls on.

        With the span of the times where every row has one.
        """
        file, block = source
        times = rows.times
        if times is None and file.snapshot is not None:
            return np.full(rows.row_count if numbers is None else len(numbers), file.snapshot), None
        if times is None:
            self.has_hashed |= file.splits_untimed
            return _untimed(rows.row_count if numbers is None else numbers, block.first_row, file), None
        us = times.us if numbers is None else times.us[numbers]
        span = span_of(us) if times.ends is None or numbers is not None else Span(*times.ends, is_rising=True)
        if span.first_us != NO_TIME:
            self._widen(span.first_us, span.last_us)
            return us, span
        here = us == NO_TIME
        self.untimed_count += int(here.sum())
        self.has_hashed |= file.splits_untimed
        places = np.flatnonzero(here) if numbers is None else numbers[here]
        us = us.copy()
        us[here] = _untimed(places, block.first_row, file)
        timed = us[~here]
        if len(timed):
            self._widen(int(timed.min()), int(timed.max()))
        return us, None

    def _add_mixed(
        self, marks: Int64Array, sizes: tuple[Int64Array, ...], weights: Int64Array | None
    ) -> None:
        """Rows with a time are put in buckets; the two marks of the others are buckets of their own."""
        timed = marks > UNTIMED_HOLDOUT
        for here, width_us in ((timed, self.tally.width_us), (~timed, 1)):
            if here.any():
                picked = tuple(values[here] for values in sizes)
                weights_here = None if weights is None else weights[here]
                self.tally.add(count_rows(marks[here], width_us, picked, weights_here))


def _add_up(into: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        if count:
            into[name] = into.get(name, 0) + count


def _untimed(rows: Int64Array | int, first_row: int, file: FileRows) -> Int64Array:
    """Tune or holdout by hash of file name and row number."""
    numbers = np.arange(rows) if isinstance(rows, int) else rows
    if not file.splits_untimed:
        return np.full(len(numbers), UNTIMED_TUNE)
    seed = np.uint64(zlib.crc32(file.base_name.encode()) << 32)
    mixed = _mixed((numbers + first_row).astype(np.uint64) + seed)
    return np.where(mixed < np.uint64(HOLDOUT_SHARE * 2**64), UNTIMED_HOLDOUT, UNTIMED_TUNE)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64 (Steele, Lea and Flood 2014): neighbouring numbers come out unrelated."""
    z = values * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
