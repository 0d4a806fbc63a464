"""Decides, file by file, which column is which: by the mapping, by exact name, by well-known names.

Two equally good columns are an error that names both; an axis that no file has is an error that lists the
columns there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from tuner.errors import TunerError, nearest_name
from tuner.logs import synonyms
from tuner.logs.axis_column import AxisColumn, parse_axis
from tuner.logs.fixed_dims import FixedColumn, fixed_columns
from tuner.logs.layout import Layout, Place
from tuner.logs.long_table import long_table, told_of_long_table
from tuner.logs.record_forms import time_unit_of
from tuner.logs.shape_columns import ShapeColumn, shape_columns
from tuner.model import Model
from tuner.settings import LogSettings

_MOST_COLUMNS_SHOWN = 40
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class FileColumns:
    """What one file's columns mean. An axis that the file lacks is None: its rows miss it."""

    axes: tuple[AxisColumn | None, ...]
    shapes: tuple[ShapeColumn, ...] = ()
    count: str | None = None
    time: str | None = None
    time_unit: str | None = None
    fixed: tuple[FixedColumn, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read."""
        wanted = [column.name for column in self.axes if column is not None]
        wanted += [shape.name for shape in self.shapes]
        wanted += [self.count, self.time, *(column.name for column in self.fixed)]
        return tuple(dict.fromkeys(name for name in wanted if name is not None))

    def sizes(self, bound_axis: str | None) -> tuple[str, ...]:
        """The columns that are read as sizes of an axis, as they stand, and as nothing else."""
        plain = [c for c in self.axes if c is not None and c.divisor == 1 and c.element is None]
        names = [column.name for column in plain if column.axis != bound_axis]
        others = {self.count, self.time, *(s.name for s in self.shapes), *(f.name for f in self.fixed)}
        return tuple(name for name in names if name is not None and name not in others)

    @property
    def time_is_only_time(self) -> bool:
        """Whether nothing else is read from the column of times."""
        others = [c.name for c in (*self.axes, *self.shapes, *self.fixed) if c is not None]
        return self.time is not None and self.time not in (*others, self.count)

    def sentences(self) -> list[str]:
        told = [str(shape) for shape in self.shapes]
        told += [str(column) for column in self.axes if column is not None]
        told += [f"counts are in column '{self.count}'"] if self.count else []
        told += [str(column) for column in self.fixed]
        unit = f", in {self.time_unit}" if self.time_unit else ""
        return told + ([f"times are in column '{self.time}'{unit}"] if self.time else [])


@dataclass(frozen=True, slots=True)
class Question:
    """What has to be found in every file: the axes in order, and whether counts are wanted."""

    settings: LogSettings
    model: Model | None
    axes: tuple[str, ...]
    log_kind: str

    @property
    def needs_count(self) -> bool:
        return self.log_kind in ("histogram", "cumulative", "counters")


def ask(settings: LogSettings, model: Model | None, layouts: Sequence[Layout]) -> Question:
    """The question that all files have to answer, from what they have together."""
    union = {name: place for layout in layouts for name, place in layout.items()}
    log_kind = settings.log_kind or _kind_of(settings, union)
    return Question(settings, model, _axes(settings, model, layouts, union), log_kind)


def _kind_of(settings: LogSettings, layout: Layout) -> str:
    if _named(layout, synonyms.BOUND):
        return "cumulative"
    return "histogram" if settings.count or _named(layout, synonyms.COUNT) else "requests"


def _axes(
    settings: LogSettings, model: Model | None, layouts: Sequence[Layout], union: Layout
) -> tuple[str, ...]:
    if model is not None:
        for axis in settings.axes:
            if axis not in model.axes:
                hint = nearest_name(axis, model.axes)
                raise TunerError(f"--axis {axis}=...: the model has the axes {', '.join(model.axes)}{hint}")
        return model.axes
    if settings.axes:
        return tuple(settings.axes)
    found = named_axes(layouts)
    return ("le",) if not found and _named(union, synonyms.BOUND) else found


def named_axes(layouts: Sequence[Layout]) -> tuple[str, ...]:
    """The axes that the columns' names tell.

    A column that only few rows have is an axis nobody asked for: it would reject all the others.
    """
    found = {group: _share(names, layouts) for group, names in synonyms.AXIS_GROUPS.items()}
    return tuple(axis for axis, share in found.items() if share and share > max(found.values()) / 2)


def _share(names: Iterable[str], layouts: Sequence[Layout]) -> float:
    """In how many files, counting a file by the part of its first rows, one of the columns is."""
    return sum(
        max((layout[name].share for name in _named(layout, names, number=True)), default=0.0)
        for layout in layouts
    )


def bound_axis(question: Question, answers: Sequence[FileColumns]) -> str | None:
    """The axis whose values are upper bounds of buckets: the one in a column `le`, or the only one."""
    if question.log_kind not in ("cumulative", "counters"):
        return None
    for answer in answers:
        for column in answer.axes:
            if (
                column is not None
                and column.name is not None
                and synonyms.is_named(column.name, synonyms.BOUND)
            ):
                return column.axis
    varying = {c.axis for answer in answers for c in answer.axes if c is not None and c.fixed is None}
    if question.log_kind == "counters":
        return None
    if len(varying) == 1:
        return varying.pop()
    raise TunerError(
        f"kind cumulative: which of {', '.join(question.axes)} has upper bounds? name its column 'le', or "
        "fix the others, like --axis batch=1"
    )


def answer(question: Question, layout: Layout) -> FileColumns:
    """Which columns of one file are the axes, counts and times. TunerError where two are equally good."""
    settings = question.settings
    shapes = shape_columns(settings.shapes, question.model, layout)
    covered = {axis for shape in shapes for axis in shape.axes}
    axes = tuple(
        None if axis in covered and axis not in settings.axes else _axis_column(axis, question, layout)
        for axis in question.axes
    )
    count = settings.count or _only("counts", "--count", _count_names(question), layout)
    taken = {column.name for column in axes if column is not None}
    time = settings.time or _only("times", "--time", (synonyms.TIME, synonyms.DATE), layout)
    return FileColumns(
        axes,
        shapes,
        count if question.needs_count and count in layout and count not in taken else None,
        time,
        settings.time_unit or time_unit_of(layout) or synonyms.unit_in(time),
        fixed_columns(question.model, layout),
    )


def _count_names(question: Question) -> tuple[tuple[str, ...], ...]:
    if not question.needs_count:
        return ()
    return (
        (("count",), synonyms.COUNT, ("value",))
        if question.log_kind != "histogram"
        else (("count",), synonyms.COUNT)
    )


def _axis_column(axis: str, question: Question, layout: Layout) -> AxisColumn | None:
    text = question.settings.axes.get(axis)
    if text is not None:
        column = parse_axis(axis, text, layout)
        return column if column.fixed is not None or column.name in layout else None
    value = _shape_value(axis, layout)
    if value is not None:
        return value
    name = _only(f"axis '{axis}'", f"--axis {axis}", ((axis,),), layout, number=True)
    if name is not None:
        return AxisColumn(axis, name, how="exact")
    tiers: tuple[tuple[str, ...], ...] = (synonyms.group_of(axis),)
    if question.log_kind in ("cumulative", "counters"):
        tiers += (synonyms.BOUND,)
    name = _only(f"axis '{axis}'", f"--axis {axis}", tiers, layout, number=True)
    return AxisColumn(axis, name, how="synonym") if name is not None else None


def _shape_value(axis: str, layout: Layout) -> AxisColumn | None:
    """The values of a shape tensor: axis `target[0]` is element 0 of a list `values.target` or `target`."""
    tensor, bracket, place = axis.partition("[")
    if not bracket or not place.rstrip("]").isdigit():
        return None
    for name in (f"values.{tensor}", tensor):
        if name in layout and layout[name].kind == "list":
            return AxisColumn(axis, name, int(place.rstrip("]")), how="exact")
    return None


def _only(
    what: str, option: str, tiers: Iterable[tuple[str, ...]], layout: Layout, *, number: bool = False
) -> str | None:
    """The one column that the first tier with any gives; None where no tier gives one."""
    for names in tiers:
        found = _named(layout, names, number=number)
        exact = [name for name in found if name in names[:1]]
        found = exact or found
        if len(found) > 1:
            raise TunerError(
                f"{what}: the columns {' and '.join(repr(name) for name in found[:3])} are equally good; "
                f"say which with {option}{'=COLUMN' if option.startswith('--axis') else ' COLUMN'}"
            )
        if found:
            return found[0]
    return None


def _named(layout: Layout, names: Iterable[str], *, number: bool = False) -> list[str]:
    """Columns with one of the names: as a whole, else by their last key."""
    plain = {synonyms.plain(name) for name in names}
    usable = {name: place for name, place in layout.items() if not number or _may_be_number(place)}
    whole = [name for name in usable if synonyms.plain(name) in plain]
    return whole or [name for name, place in usable.items() if synonyms.plain(place.keys[-1]) in plain]


def _may_be_number(place: Place) -> bool:
    return place.kind not in ("list", "time")


def check_answers(question: Question, answers: Sequence[FileColumns], layouts: Sequence[Layout]) -> None:
    """TunerError where some axis, count or time is in no file at all."""
    present = list(dict.fromkeys(name for layout in layouts for name in layout))
    if not question.axes and question.model is None:
        found = long_table(layouts)
        advice = (
            told_of_long_table(*found, "seq") if found else "map them: --axis batch=COLUMN --axis seq=COLUMN"
        )
        raise TunerError(f"no column is a known axis; {shown_columns(present)}; {advice}")
    for i, axis in enumerate(question.axes):
        if not any(answer.axes[i] or any(axis in s.axes for s in answer.shapes) for answer in answers):
            raise TunerError(_no_column(axis, question, present))
    for option, name in (("--count", question.settings.count), ("--time", question.settings.time)):
        if name is not None and name not in present:
            raise TunerError(
                f"{option} {name}: no such column{nearest_name(name, present)}; {shown_columns(present)}"
            )
    if question.needs_count and not any(answer.count for answer in answers):
        raise TunerError(
            f"kind {question.log_kind} needs a column of counts; {shown_columns(present)}; "
            "pass --count COLUMN"
        )


def _no_column(axis: str, question: Question, present: list[str]) -> str:
    text = question.settings.axes.get(axis)
    wanted = parse_axis(axis, text, {}).name or axis if text else axis
    hint = nearest_name(wanted, present)
    tensor = axis.partition("[")[0]
    if "[" in axis and text is None:
        return (
            f"shape input '{tensor}' needs its values, and no column has them{hint}; "
            f"{shown_columns(present)}; log them as a list values.{tensor}, or map --axis '{axis}=COLUMN'"
        )
    return (
        f"axis '{axis}': no column '{wanted}' in the logs{hint}; {shown_columns(present)}; "
        f"map it with --axis {axis}=COLUMN"
    )


def shown_columns(present: Sequence[str]) -> str:
    """The columns there are, for an error; a log may have thousands, and damage may make long names."""
    if not present:
        return "the logs have no columns"
    more = len(present) - _MOST_COLUMNS_SHOWN
    names = (name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..." for name in present)
    return (
        f"columns: {', '.join(islice(names, _MOST_COLUMNS_SHOWN))}{f' and {more} more' if more > 0 else ''}"
    )
