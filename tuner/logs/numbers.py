"""Turns a column of any type into whole numbers, with the reason for each value that is none.

Every type is handled on whole arrays; texts are parsed once for each distinct text. The rules are those of
`whole_number`, which says what one value is worth.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION
from tuner.logs import reasons
from tuner.logs.reasons import FINE, ReasonCodes

Int64Array = NDArray[np.int64]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_NO_NUMBER = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NULL_TEXTS = frozenset(("", "null", "none", "na", "n/a", "\\n"))
_LONGEST_NUMBER = 400


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the largest value that counts as a number of this kind."""

    least: int = 1
    largest: int = LARGEST_DIMENSION


def whole_number(value: Any, limits: Limits) -> tuple[int, int]:
    """The value as a whole number, and the reason why it is none (`FINE` where it is one)."""
    if value is None:
        return 0, reasons.MISSING
    if isinstance(value, (bytes, bytearray)):
        value = bytes(value).decode("utf-8", errors="replace")
    if isinstance(value, str):
        return _from_text(value.strip(), limits)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return 0, reasons.NOT_A_NUMBER
    return _from_number(value, limits)


def _from_number(value: int | float | Decimal, limits: Limits) -> tuple[int, int]:
    if not (
        value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)
    ):
        return 0, reasons.NOT_FINITE
    if value > limits.largest:
        return 0, reasons.TOO_LARGE
    if value != int(value):
        return 0, reasons.NOT_WHOLE
    if value < limits.least:
        return 0, reasons.NOT_POSITIVE
    return int(value), FINE


def _from_text(text: str, limits: Limits) -> tuple[int, int]:
    if text.lower() in _NULL_TEXTS:
        return 0, reasons.MISSING
    if _NO_NUMBER.fullmatch(text):
        return 0, reasons.NOT_FINITE
    if len(text) > _LONGEST_NUMBER or not text.isascii() or not _NUMBER.fullmatch(text):
        return 0, reasons.NOT_A_NUMBER
    number = Decimal(text)
    if number <= limits.largest and number != number.to_integral_value():
        # As of a number in JSON: a fraction that a double does not hold counts as none.
        return _from_number(float(number), limits)
    return _from_number(number, limits)


def whole_numbers(column: Any, limits: Limits) -> tuple[Int64Array, ReasonCodes | None]:
    """Values of shape (rows,), 0 where there is none, and the reasons (None: every value is fine)."""
    if isinstance(column, list):
        return _from_objects(column, limits)
    kind = column.type
    if pa.types.is_integer(kind):
        return _from_integers(column, limits)
    if pa.types.is_floating(kind):
        return _from_floats(column, limits)
    if pa.types.is_decimal(kind):
        return _from_floats(pc.cast(column, pa.float64(), safe=False), limits)
    if pa.types.is_dictionary(kind):
        return _from_dictionary(column, limits)
    if is_text(kind):
        integers = _integer_texts(column)
        return (
            _from_dictionary(pc.dictionary_encode(column), limits)
            if integers is None
            else _from_integers(integers, limits)
        )
    unreadable = np.where(_is_null(column), reasons.MISSING, reasons.NOT_A_NUMBER).astype(np.uint8)
    return np.zeros(len(column), np.int64), unreadable


def is_text(kind: pa.DataType) -> bool:
    """Whether values of the type are texts or bytes that may be one."""
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
        or types.is_large_binary(kind) or types.is_string_view(kind)
    )  # fmt: skip


def plain_values(column: pa.Array) -> list[Any]:
    """The values as Python objects; texts that are no UTF-8, which damaged files hold, come as bytes."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = column.cast(pa.binary()).to_pylist()
    return values


def _integer_texts(column: pa.Array) -> pa.Array | None:
    """The integers that all texts are; None where any is something else, such as a hexadecimal one."""
    try:
        integers = column.cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    signs = column.buffers()[-1]
    has_x = signs is not None and bool((np.frombuffer(signs, np.uint8) | 0x20 == ord("x")).any())
    return None if has_x else integers


def _is_null(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _from_integers(column: pa.Array, limits: Limits) -> tuple[Int64Array, ReasonCodes | None]:
    if column.null_count:
        null = _is_null(column)
        values, codes = _from_integers(column.fill_null(limits.least), limits)
        codes = np.zeros(len(values), np.uint8) if codes is None else codes
        codes[null] = reasons.MISSING
        return np.where(null, 0, values), codes
    values = column.to_numpy()
    if not len(values) or (values.min() >= limits.least and values.max() <= limits.largest):
        # 32 bits stay 32 bits: it is half the memory to go through, and every value fits.
        return values if values.dtype == np.int32 else values.astype(np.int64, copy=False), None
    codes = np.zeros(len(values), np.uint8)
    codes[values < limits.least] = reasons.NOT_POSITIVE
    codes[values > limits.largest] = reasons.TOO_LARGE
    return np.where(codes == FINE, values, 0).astype(np.int64), codes


def _from_floats(column: pa.Array, limits: Limits) -> tuple[Int64Array, ReasonCodes | None]:
    if not column.null_count and _are_whole(column.to_numpy(), limits):
        return column.to_numpy().astype(np.int64), None
    null = _is_null(column) if column.null_count else None
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    codes = np.zeros(len(values), np.uint8)
    finite = np.isfinite(values)
    codes[values < limits.least] = reasons.NOT_POSITIVE
    codes[finite & (values != np.floor(values))] = reasons.NOT_WHOLE
    codes[values > limits.largest] = reasons.TOO_LARGE
    codes[~finite] = reasons.NOT_FINITE
    if null is not None:
        codes[null] = reasons.MISSING
    return np.where(codes == FINE, values, 0).astype(np.int64), codes if codes.any() else None


def _are_whole(values: NDArray[np.floating[Any]], limits: Limits) -> bool:
    """Whether nothing is wrong with any value, as is usual: in a few passes."""
    if not len(values) or not (limits.least <= values.min() and values.max() <= limits.largest):
        return False
    return bool((np.trunc(values) == values).all())


def _from_dictionary(column: pa.DictionaryArray, limits: Limits) -> tuple[Int64Array, ReasonCodes | None]:
    distinct, distinct_codes = _from_objects(plain_values(column.dictionary), limits)
    distinct = np.append(distinct, 0)
    lookup = np.append(distinct_codes if distinct_codes is not None else np.zeros(len(distinct) - 1), 0)
    lookup = lookup.astype(np.uint8)
    lookup[-1] = reasons.MISSING
    indices = column.indices.fill_null(len(distinct) - 1) if column.indices.null_count else column.indices
    rows = indices.to_numpy()
    codes = lookup[rows]
    return distinct[rows], codes if codes.any() else None


def _from_objects(column: list[Any], limits: Limits) -> tuple[Int64Array, ReasonCodes | None]:
    pairs = [whole_number(value, limits) for value in column]
    if not pairs:
        return np.zeros(0, np.int64), None
    table = np.array(pairs, dtype=np.int64)
    codes = table[:, 1].astype(np.uint8)
    return table[:, 0].copy(), codes if codes.any() else None
