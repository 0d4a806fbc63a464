"""Opens the files of a log and settles what their columns mean, before any row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.errors import DamagedFile, TunerError
from tuner.logs.assumed_inputs import assumed_model
from tuner.logs.columns import FileColumns, Question, answer, ask, check_answers, named_axes
from tuner.logs.folder_times import lies_outside
from tuner.logs.layout import Layout
from tuner.logs.log_file import LogFile, TimeWindow
from tuner.logs.opening import open_log
from tuner.logs.sources import Source, find_sources
from tuner.model import Model
from tuner.settings import LogSettings
from tuner.traffic.traffic_file import BUCKET_START, COUNT, TrafficAccount, account_of, is_traffic_file


@dataclass(frozen=True, slots=True)
class OpenLogs:
    """The files that could be opened, with what their columns mean, and the problems of the others."""

    files: tuple[LogFile, ...]
    columns: tuple[FileColumns, ...]
    question: Question
    damaged: tuple[DamagedFile, ...]
    notes: tuple[str, ...]
    accounts: tuple[TrafficAccount, ...] = ()

    @property
    def settings(self) -> LogSettings:
        return self.question.settings

    @property
    def model(self) -> Model | None:
        return self.question.model

    @property
    def axes(self) -> tuple[str, ...]:
        return self.question.axes


OpenFiles = Callable[[Sequence[Source]], Iterable[LogFile | DamagedFile]]
"""Opens files, in order; one that cannot be read is given as the error."""


def open_here(sources: Sequence[Source]) -> Iterator[LogFile | DamagedFile]:
    """Open files one after the other, in this process."""
    for source in sources:
        try:
            yield open_log(source)
        except DamagedFile as error:
            yield error


def open_logs(
    settings: LogSettings,
    model: Model | None,
    window: TimeWindow = (None, None),
    open_files: OpenFiles = open_here,
) -> OpenLogs:
    """Raises TunerError without any file, for a lone bad one, and for columns missing or in doubt."""
    found = find_sources(settings.logs)
    sources = [source for source in found.sources if not lies_outside(source.partitions, window)]
    found_files = list(open_files(sources))
    opened = [file for file in found_files if isinstance(file, LogFile)]
    damaged = [file for file in found_files if isinstance(file, DamagedFile)]
    files = [file for file in opened if file.layout]
    if not files:
        raise TunerError(_nothing_in(settings, damaged))
    notes = [*found.notes, *_left_out(len(found.sources) - len(sources), opened)]
    accounts = tuple(
        account_of(file.source.name, file.metadata or {}) for file in files if is_traffic_file(file.metadata)
    )
    if accounts and len(accounts) < len(files):
        raise TunerError("traffic files and logs are mixed; give the one or the other")
    layouts = [file.layout for file in files]
    if accounts:
        settings = _for_traffic_files(settings, model, layouts)
    elif model is None:
        has_axes = bool(settings.axes or named_axes(layouts))
        model = assumed_model(files, settings.shapes, has_axes=has_axes)
    question = ask(settings, model, layouts)
    columns = tuple(answer(question, layout) for layout in layouts)
    check_answers(question, columns, layouts)
    return OpenLogs(tuple(files), columns, question, tuple(damaged), tuple(notes), accounts)


def _nothing_in(settings: LogSettings, damaged: Sequence[DamagedFile]) -> str:
    if damaged:
        return str(damaged[0])
    given = ", ".join(settings.logs)
    window = " and lies between --since and --until" if settings.since or settings.until else ""
    return f"no usable rows: no file of {given} holds any{window}"


def _left_out(outside_count: int, files: Sequence[LogFile]) -> list[str]:
    notes = []
    if outside_count:
        notes.append(f"{outside_count} files lie outside --since and --until by the names of their folders")
    empty = [file.source.name for file in files if not file.layout]
    if empty:
        notes.append(f"files that hold nothing: {len(empty)}, the first is {empty[0]}")
    return notes


def _for_traffic_files(settings: LogSettings, model: Model | None, layouts: Sequence[Layout]) -> LogSettings:
    """A traffic file names its columns itself; the mapping for logs does not hold for it."""
    names = [name for name in layouts[0] if name not in (COUNT, BUCKET_START)]
    axes = {axis: axis for axis in (names if model is None else model.axes) if axis in names}
    mapped = {axis: text for axis, text in settings.axes.items() if axis not in names}
    return replace(
        settings, axes={**axes, **mapped}, shapes={}, count=COUNT, time=BUCKET_START, log_kind="histogram"
    )
