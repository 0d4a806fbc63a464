"""Opens the files of a log and settles what their columns mean, before any row is read."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import DamagedFile, TunerError
from tuner.logs.assumed_inputs import assumed_model
from tuner.logs.columns import FileColumns, Question, answer, ask, check_answers, named_axes
from tuner.logs.log_file import LogFile
from tuner.logs.opening import open_log
from tuner.logs.sources import find_sources
from tuner.model import Model
from tuner.settings import LogSettings


@dataclass(frozen=True, slots=True)
class OpenLogs:
    """The files that could be opened, with what their columns mean, and the problems of the others."""

    files: tuple[LogFile, ...]
    columns: tuple[FileColumns, ...]
    question: Question
    damaged: tuple[DamagedFile, ...]
    notes: tuple[str, ...]

    @property
    def settings(self) -> LogSettings:
        return self.question.settings

    @property
    def model(self) -> Model | None:
        return self.question.model

    @property
    def axes(self) -> tuple[str, ...]:
        return self.question.axes


def open_logs(settings: LogSettings, model: Model | None) -> OpenLogs:
    """Raises TunerError for logs without any file, a column that is missing or in doubt, and a lone bad file."""
    found = find_sources(settings.logs)
    files: list[LogFile] = []
    damaged: list[DamagedFile] = []
    for source in found.sources:
        try:
            files.append(open_log(source))
        except DamagedFile as error:
            damaged.append(error)
    if damaged and not files:
        raise TunerError(str(damaged[0]))
    notes = list(found.notes)
    empty = [file.source.name for file in files if not file.layout]
    if empty:
        notes.append(f"{len(empty)} files hold nothing, the first is {empty[0]}")
    files = [file for file in files if file.layout]
    if not files:
        raise TunerError(
            f"no usable rows: {found.sources[0].name if found.sources else settings.logs[0]} holds nothing"
        )
    layouts = [file.layout for file in files]
    if model is None:
        has_axes = bool(settings.axes or named_axes(layouts))
        model = assumed_model(files, settings.shapes, has_axes=has_axes)
    question = ask(settings, model, layouts)
    columns = [answer(question, layout) for layout in layouts]
    check_answers(question, columns, layouts)
    return OpenLogs(tuple(files), tuple(columns), question, tuple(damaged), tuple(notes))
