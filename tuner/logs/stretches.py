"""Row groups of a Parquet file that are read in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tuner.logs.group_times import GroupTimes

BATCH_ROWS = 1 << 20
"""Rows that are read at a time; small row groups are joined up to here."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row groups that follow one another, with rows in each, all outside of the window or none surely so."""

    groups: tuple[int, ...]
    first_row: int
    row_count: int
    is_outside: bool


def stretches(metadata: Any, times: GroupTimes, span: tuple[int, int]) -> Iterator[Stretch]:
    """The row groups from a first one up to a last, joined where they are read in the same way."""
    joined: Stretch | None = None
    for one in _single_groups(metadata, times, span):
        if joined is None:
            joined = one
        elif _belong_together(joined, one):
            row_count = joined.row_count + one.row_count
            joined = replace(joined, groups=joined.groups + one.groups, row_count=row_count)
        else:
            yield joined
            joined = one
    if joined is not None:
        yield joined


def _single_groups(metadata: Any, times: GroupTimes, span: tuple[int, int]) -> Iterator[Stretch]:
    """Each row group that has rows."""
    first_row = sum(metadata.row_group(group).num_rows for group in range(span[0]))
    for group in range(*span):
        row_count = metadata.row_group(group).num_rows
        if row_count:
            yield Stretch((group,), first_row, row_count, times.is_outside(group))
        first_row += row_count


def _belong_together(before: Stretch, after: Stretch) -> bool:
    return before.is_outside == after.is_outside and before.row_count + after.row_count <= BATCH_ROWS
