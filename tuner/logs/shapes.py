"""Turns a column of whole shapes (lists, or texts like `8x128`) into one row of dimensions a request."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tuner.logs import reasons
from tuner.logs.numbers import Int64Array, Limits, whole_number, whole_numbers
from tuner.logs.reasons import FINE, ReasonCodes

_SHAPE_TEXT = re.compile(r"[\[(]?\s*([^\[\]()]*?)\s*[\])]?")
_BETWEEN_DIMS = re.compile(r"\s*[xX×*,; ]\s*")
_ANY_SIZE = Limits(least=0)


def shape_rows(column: Any, rank: int, wrong_rank: int) -> tuple[Int64Array, ReasonCodes]:
    """Dimensions of shape (rows, rank), 0 from up, and a reason for each row.

    Null, empty and with a null inside are `missing`; another rank has the reason `wrong_rank`.
    """
    if not isinstance(column, list):
        kind = column.type
        if pa.types.is_fixed_size_list(kind):
            column = column.cast(pa.list_(kind.value_type))
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            return _from_lists(column, rank, wrong_rank)
        if not pa.types.is_dictionary(kind):
            column = pc.dictionary_encode(column)
        return _from_dictionary(column, rank, wrong_rank)
    return _from_objects(column, rank, wrong_rank)


def _from_lists(column: pa.Array, rank: int, wrong_rank: int) -> tuple[Int64Array, ReasonCodes]:
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    codes = np.where(lengths == 0, reasons.MISSING, np.where(lengths == rank, FINE, wrong_rank)).astype(
        np.uint8
    )
    fits = codes == FINE
    elements = column.filter(pa.array(fits)).flatten()
    values, element_codes = whole_numbers(elements, _ANY_SIZE)
    dims = np.zeros((len(column), rank), np.int64)
    dims[fits] = values.reshape(-1, rank)
    if element_codes is not None:
        by_row = element_codes.reshape(-1, rank)
        first = (by_row != FINE).argmax(axis=1)
        codes[fits] = by_row[np.arange(len(by_row)), first]
    return dims, codes


def _from_dictionary(column: Any, rank: int, wrong_rank: int) -> tuple[Int64Array, ReasonCodes]:
    dims, codes = _from_objects([*column.dictionary.to_pylist(), None], rank, wrong_rank)
    rows = column.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return dims[rows], codes[rows]


def _from_objects(column: list[Any], rank: int, wrong_rank: int) -> tuple[Int64Array, ReasonCodes]:
    dims = np.zeros((len(column), rank), np.int64)
    codes = np.zeros(len(column), np.uint8)
    for row, value in enumerate(column):
        elements = shape_elements(value)
        if elements is None:
            codes[row] = reasons.NOT_A_NUMBER
        elif len(elements) in (0, rank):
            codes[row] = reasons.MISSING if not elements else _fill(dims[row], elements)
        else:
            codes[row] = wrong_rank
    return dims, codes


def _fill(dims: Int64Array, elements: list[Any]) -> int:
    for i, element in enumerate(elements):
        dims[i], code = whole_number(element, _ANY_SIZE)
        if code != FINE:
            return code
    return FINE


def shape_elements(value: Any) -> list[Any] | None:
    """The dimensions of one logged shape, empty for null and None for what is no shape."""
    if value is None:
        return []
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, str):
        inside = _SHAPE_TEXT.fullmatch(value.strip())
        return [part for part in _BETWEEN_DIMS.split(inside[1]) if part] if inside else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    return list(value) if isinstance(value, (list, tuple)) else None
