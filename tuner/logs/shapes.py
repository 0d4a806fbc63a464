"""Turns a column of whole shapes (lists, or texts like `8x128`) into one row of dimensions a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tuner.logs import reasons
from tuner.logs.numbers import Int64Array, Limits, plain_values, whole_number, whole_numbers
from tuner.logs.reasons import FINE, ReasonCodes

_SHAPE_TEXT = re.compile(r"[\[(]?\s*([^\[\]()]*?)\s*[\])]?")
_BETWEEN_DIMS = re.compile(r"\s*[xX\u00d7*,; ]\s*")
_ANY_SIZE = Limits(least=0)


@dataclass(frozen=True, slots=True)
class Rank:
    """How many dimensions a shape has, the reason for any other number, and whether it may lack the batch."""

    dims: int
    wrong: int
    may_lack_batch: bool = False


def shape_rows(column: Any, rank: Rank) -> tuple[Int64Array, ReasonCodes]:
    """Dimensions of shape (rows, rank), from 0 up, and a reason for each row.

    Null, empty and with a null inside are `missing`. A shape that may lack the batch is one of batch 1.
    """
    if not isinstance(column, list):
        kind = column.type
        if pa.types.is_fixed_size_list(kind):
            column = column.cast(pa.list_(kind.value_type))
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            return _from_lists(column, rank)
        if not pa.types.is_dictionary(kind):
            column = pc.dictionary_encode(column)
        return _from_dictionary(column, rank)
    return _from_objects(column, rank)


def _from_lists(column: pa.Array, rank: Rank) -> tuple[Int64Array, ReasonCodes]:
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    codes = np.where(lengths == 0, reasons.MISSING, np.where(lengths == rank.dims, FINE, rank.wrong)).astype(
        np.uint8
    )
    fits = codes == FINE
    elements = column.filter(pa.array(fits)).flatten()
    values, element_codes = whole_numbers(elements, _ANY_SIZE)
    dims = np.zeros((len(column), rank.dims), np.int64)
    dims[fits] = values.reshape(-1, rank.dims)
    if element_codes is not None:
        by_row = element_codes.reshape(-1, rank.dims)
        first = (by_row != FINE).argmax(axis=1)
        codes[fits] = by_row[np.arange(len(by_row)), first]
    return dims, codes


def _from_dictionary(column: Any, rank: Rank) -> tuple[Int64Array, ReasonCodes]:
    dims, codes = _from_objects([*plain_values(column.dictionary), None], rank)
    rows = column.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False).astype(np.int64)
    return dims[rows], codes[rows]


def _from_objects(column: list[Any], rank: Rank) -> tuple[Int64Array, ReasonCodes]:
    dims = np.zeros((len(column), rank.dims), np.int64)
    codes = np.zeros(len(column), np.uint8)
    for row, value in enumerate(column):
        elements = shape_elements(value)
        if elements and rank.may_lack_batch and len(elements) == rank.dims - 1:
            elements = [1, *elements]
        if elements is None:
            codes[row] = reasons.NOT_A_NUMBER
        elif len(elements) in (0, rank.dims):
            codes[row] = reasons.MISSING if not elements else _fill(dims[row], elements)
        else:
            codes[row] = rank.wrong
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
