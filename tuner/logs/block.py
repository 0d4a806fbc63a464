"""A block: some rows of one file, a column for each name that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Column = Any
"""A `pyarrow.Array`, `Ends`, or a list of Python objects where the values are of mixed types."""


@dataclass(frozen=True, slots=True)
class Ends:
    """A time column of rows of which only the first and the last time are known, which `values` holds.

    They may be those of more rows than these, all of one piece.
    """

    values: pa.Array
    row_count: int

    def __len__(self) -> int:
        return self.row_count

    def slice(self, offset: int, length: int | None = None) -> Ends:
        """As that of an Arrow array."""
        rest = self.row_count - offset
        return Ends(self.values, rest if length is None else min(rest, length))


@dataclass(frozen=True, slots=True)
class Block:
    """`row_count` rows that start at row `first_row` of the file, counted from 0.

    A column that the file lacks is absent from `columns`. `damaged` holds places in the block of rows that
    could not be read at all; their values are null in every column. `byte_count` is what they took of the
    file. A block `is_outside_window` when it was skipped unread because of its times. `row_numbers` are given
    where rows do not follow one another without a gap.

    A time column may be `Ends`: then `exact` reads all of the piece again, with the time of each row.
    """

    columns: Mapping[str, Column]
    row_count: int
    first_row: int
    damaged: tuple[int, ...] = ()
    byte_count: int = 0
    is_outside_window: bool = False
    row_numbers: Sequence[int] | NDArray[np.int64] | None = None
    exact: Callable[[], Iterator[Block]] | None = None

    def row_number(self, place: int) -> int:
        """The number in the file, from 0, of the row at a place in the block."""
        return self.first_row + place if self.row_numbers is None else int(self.row_numbers[place])
