"""Turns a block of raw columns into sizes, counts and times, with the reason for each row that has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tuner.axes import LARGEST_DIMENSION
from tuner.errors import TunerError
from tuner.formula import Formula
from tuner.logs import reasons
from tuner.logs.axis_column import AxisColumn
from tuner.logs.block import Block
from tuner.logs.bounds import bounds
from tuner.logs.columns import FileColumns
from tuner.logs.numbers import Int64Array, Limits, is_text, plain_values, whole_numbers
from tuner.logs.reasons import FINE, ReasonCodes, first_reasons
from tuner.logs.shape_columns import ShapeColumn
from tuner.logs.shapes import Rank, shape_elements, shape_rows
from tuner.logs.times import NO_TIME, Times, read_times

_COUNT_LIMITS = Limits(least=0, largest=2**53)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for every row: the axes in order, their least values, and the multiples they are padded to.

    `bound_axis` is the axis whose values are upper bounds of cumulative buckets.
    """

    axes: tuple[str, ...]
    least: Mapping[str, int] = field(default_factory=dict)
    align: Mapping[str, int] = field(default_factory=dict)
    bound_axis: str | None = None
    wrong_rank: int = reasons.MODEL_CANNOT_RUN

    def limits(self, axis: str) -> Limits:
        return Limits(least=self.least.get(axis, 1))


@dataclass(frozen=True, slots=True)
class CleanRows:
    """`sizes` has shape (axes, rows); `counts` and `times` shape (rows,), None where no column has them.

    `codes` is None where every row is fine. `padded` marks, by axis, the rows that were padded.
    """

    sizes: tuple[Int64Array, ...]
    row_count: int
    counts: Int64Array | None = None
    times: Times | None = None
    codes: ReasonCodes | None = None
    padded: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)


def clean_rows(block: Block, columns: FileColumns, rules: Rules) -> CleanRows:
    parts: list[ReasonCodes | None] = [_damaged(block)]
    known: dict[str, Int64Array] = {}
    for axis, column in zip(rules.axes, columns.axes, strict=True):
        if column is not None:
            known[axis], codes = _axis_values(column, block, rules)
            parts.append(codes)
    parts += [_from_shape(shape, known, (block, rules)) for shape in columns.shapes]
    for axis in rules.axes:
        if axis not in known:
            known[axis] = np.zeros(block.row_count, np.int64)
            parts.append(np.full(block.row_count, reasons.MISSING, np.uint8))
    counts, codes = _counts(block, columns)
    parts.append(codes)
    parts += [_fixed(block, fixed.name, fixed.value) for fixed in columns.fixed]
    padded: dict[str, NDArray[np.bool_]] = {}
    sizes = tuple(_padded(axis, known[axis], rules, padded) for axis in rules.axes)
    return CleanRows(
        sizes,
        block.row_count,
        counts,
        _times(block, columns),
        first_reasons(parts, block.row_count),
        padded,
    )


def _damaged(block: Block) -> ReasonCodes | None:
    if not block.damaged:
        return None
    codes = np.zeros(block.row_count, np.uint8)
    codes[list(block.damaged)] = reasons.DAMAGED
    return codes


def _axis_values(column: AxisColumn, block: Block, rules: Rules) -> tuple[Int64Array, ReasonCodes | None]:
    if column.fixed is not None:
        return np.full(block.row_count, column.fixed, np.int64), None
    raw = block.columns.get(str(column.name))
    if raw is None:
        return np.zeros(block.row_count, np.int64), np.full(block.row_count, reasons.MISSING, np.uint8)
    if column.element is not None:
        raw = _element(raw, column.element)
    if column.axis == rules.bound_axis:
        return bounds(raw)
    limits = rules.limits(column.axis)
    if column.divisor == 1:
        return whole_numbers(raw, limits)
    values, codes = whole_numbers(raw, Limits(limits.least, LARGEST_DIMENSION * max(1, int(column.divisor))))
    values = _scaled(values.astype(np.int64, copy=False), column.divisor)
    return values, first_reasons([codes, _too_large(values)], block.row_count)


def _too_large(values: Int64Array) -> ReasonCodes | None:
    large = values > LARGEST_DIMENSION
    return np.where(large, reasons.TOO_LARGE, FINE).astype(np.uint8) if large.any() else None


def _scaled(values: Int64Array, divisor: Fraction) -> Int64Array:
    """Divided and rounded up, exactly."""
    if divisor.denominator == 1:
        return -(-values // divisor.numerator)
    return np.array([-(-int(v) * divisor.denominator // divisor.numerator) for v in values], dtype=np.int64)


def _element(raw: Any, place: int) -> Any:
    if isinstance(raw, list):
        return [value[place] if isinstance(value, list) and place < len(value) else None for value in raw]
    if is_text(raw.type):
        return _element_of_texts(raw, place)
    if pa.types.is_fixed_size_list(raw.type):
        raw = raw.cast(pa.list_(raw.type.value_type))
    if not (pa.types.is_list(raw.type) or pa.types.is_large_list(raw.type)):
        return raw
    long_enough = pc.greater(pc.list_value_length(raw).fill_null(0), place)
    picked = pc.list_element(raw.filter(long_enough), place)
    rows = pc.if_else(long_enough, pc.subtract(pc.cumulative_sum(long_enough.cast(pa.int64())), 1), None)
    return picked.take(rows)


def _element_of_texts(raw: Any, place: int) -> Any:
    """One element of lists that are written as text, `[4, 8]` or `4x8`."""
    encoded = pc.dictionary_encode(raw)
    lists = [shape_elements(text) or [] for text in plain_values(encoded.dictionary)]
    picked = [str(elements[place]) if place < len(elements) else None for elements in lists]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(picked, pa.string()))


def _from_shape(
    shape: ShapeColumn, known: dict[str, Int64Array], context: tuple[Block, Rules]
) -> ReasonCodes:
    """Solve one input's shape: a bare axis takes the dimension or has to agree, the rest is checked."""
    block, rules = context
    tensor, raw = shape.tensor, block.columns.get(shape.name)
    if raw is None:
        return np.full(block.row_count, reasons.MISSING, np.uint8)
    dims, codes = shape_rows(raw, Rank(len(tensor.dims), rules.wrong_rank, shape.may_lack_batch))
    for i, dim in enumerate(tensor.dims):
        wrong, reason = _mismatch(dim, dims[:, i], known, rules)
        codes[(codes == FINE) & wrong] = reason
    for i, dim in enumerate(tensor.dims):
        if isinstance(dim, Formula) and not dim.is_axis and set(dim.axes) <= set(known):
            fine = np.flatnonzero(codes == FINE)
            wrong = _formula_differs(dim, dims[fine, i], {axis: known[axis][fine] for axis in dim.axes})
            codes[fine[wrong]] = reasons.INPUTS_DISAGREE
    return codes


def _mismatch(
    dim: Any, values: Int64Array, known: dict[str, Int64Array], rules: Rules
) -> tuple[NDArray[np.bool_], int]:
    if isinstance(dim, int):
        return values != dim, reasons.MODEL_CANNOT_RUN
    if not dim.is_axis:
        return np.zeros(len(values), bool), FINE
    if dim.text in known:
        return values != known[dim.text], reasons.INPUTS_DISAGREE
    known[dim.text] = values
    return values < rules.limits(dim.text).least, reasons.NOT_POSITIVE


def _formula_differs(dim: Formula, values: Int64Array, known: dict[str, Int64Array]) -> NDArray[np.bool_]:
    """Which rows contradict the formula; it is evaluated once for each distinct combination."""
    if not len(values):
        return np.zeros(0, bool)
    table = np.stack([*known.values()], axis=1)
    distinct, rows = np.unique(table, axis=0, return_inverse=True)
    expected = np.array([_evaluated(dim, tuple(known), row) for row in distinct.tolist()], dtype=np.int64)
    return np.asarray(expected[rows.reshape(-1)] != values)


def _evaluated(dim: Formula, axes: tuple[str, ...], row: list[int]) -> int:
    try:
        return dim.evaluate(dict(zip(axes, row, strict=True)))
    except TunerError:
        return -1


def _fixed(block: Block, name: str, value: int) -> ReasonCodes | None:
    raw = block.columns.get(name)
    if raw is None:
        return None
    values, codes = whole_numbers(raw, Limits())
    wrong = (values != value) if codes is None else (values != value) & (codes == FINE)
    return np.where(wrong, reasons.MODEL_CANNOT_RUN, FINE).astype(np.uint8) if wrong.any() else None


def _counts(block: Block, columns: FileColumns) -> tuple[Int64Array | None, ReasonCodes | None]:
    if columns.count is None:
        return None, None
    raw = block.columns.get(columns.count)
    if raw is None:
        return None, np.full(block.row_count, reasons.MISSING, np.uint8)
    return whole_numbers(raw, _COUNT_LIMITS)


def _times(block: Block, columns: FileColumns) -> Times | None:
    if columns.time is None:
        return None
    raw = block.columns.get(columns.time)
    if raw is None:
        return Times(np.full(block.row_count, NO_TIME))
    return read_times(raw, columns.time_unit)


def _padded(axis: str, values: Int64Array, rules: Rules, padded: dict[str, NDArray[np.bool_]]) -> Int64Array:
    """Round up to the multiple, if there is one."""
    multiple = rules.align.get(axis)
    if multiple is None:
        return values
    rounded = -(-values.astype(np.int64, copy=False) // multiple) * multiple
    padded[axis] = rounded != values
    return np.asarray(rounded)
