"""Row groups of a Parquet file that are read in one go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tuner.logs.group_times import GroupTimes

BATCH_ROWS = 1 << 20
"""Rows that are read at a time; small row groups are joined up to here."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Row groups that follow one another, with rows in each.

    `is_outside` of the window all together, or not; where `bucket` is given, all times lie in that one.
    """

    groups: tuple[int, ...]
    first_row: int
    row_count: int
    is_outside: bool
    bucket: int | None


def stretches(metadata: Any, times: GroupTimes, span: tuple[int, int]) -> Iterator[Stretch]:
    """The row groups from a first one up to a last, joined where they are read in the same way."""
    open_one: Stretch | None = None
    first_row = sum(metadata.row_group(group).num_rows for group in range(span[0]))
    for group in range(*span):
        row_count = metadata.row_group(group).num_rows
        is_outside = times.is_outside(group)
        one = Stretch((group,), first_row, row_count, is_outside, None if is_outside else times.bucket(group))
        first_row += row_count
        if not row_count:
            continue
        if open_one is not None and _belong_together(open_one, one):
            one = Stretch(
                (*open_one.groups, group),
                open_one.first_row,
                open_one.row_count + row_count,
                is_outside,
                one.bucket,
            )
        elif open_one is not None:
            yield open_one
        open_one = one
    if open_one is not None:
        yield open_one


def _belong_together(before: Stretch, after: Stretch) -> bool:
    alike = (before.is_outside, before.bucket) == (after.is_outside, after.bucket)
    return alike and (before.is_outside or before.row_count + after.row_count <= BATCH_ROWS)
