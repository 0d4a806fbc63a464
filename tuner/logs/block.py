"""A block: some rows of one file, a column for each name that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = Any
"""A `pyarrow.Array`, or a list of Python objects where the values are of mixed types."""


@dataclass(frozen=True, slots=True)
class Block:
    """`row_count` rows that start at row `first_row` of the file, counted from 0.

    A column that the file lacks is absent from `columns`. `damaged` holds places in the block of rows that
    could not be read at all; their values are null in every column. `byte_count` is what they took of the
    file. A block `is_outside_window` when it was skipped unread because of its times. `row_numbers` are given
    where rows do not follow one another without a gap.
    """

    columns: Mapping[str, Column]
    row_count: int
    first_row: int
    damaged: tuple[int, ...] = ()
    byte_count: int = 0
    is_outside_window: bool = False
    row_numbers: Sequence[int] | NDArray[np.int64] | None = None

    def row_number(self, place: int) -> int:
        """The number in the file, from 0, of the row at a place in the block."""
        return self.first_row + place if self.row_numbers is None else int(self.row_numbers[place])
