"""A block: some rows of one file, a column for each name that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Column = Any
"""A `pyarrow.Array`, or a list of Python objects where the values are of mixed types."""


@dataclass(frozen=True, slots=True)
class Block:
    """`row_count` rows that start at row `first_row` of the file, counted from 0.

    A column that the file lacks is absent from `columns`. `damaged` holds places in the block of rows that
    could not be read at all; their values are null in every column. `byte_count` is what they took of the
    file. A block `is_outside_window` when it was skipped unread because of its times.
    """

    columns: Mapping[str, Column]
    row_count: int
    first_row: int
    damaged: tuple[int, ...] = ()
    byte_count: int = 0
    is_outside_window: bool = False
