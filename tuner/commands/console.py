"""The two consoles: results on stdout, progress and messages on stderr and only for a person."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

WIDTH_WITHOUT_TERMINAL = 120

# Names from logs and models are shown as they are: `[red]` is no colour, and `[/]` no error.
_PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}


def results() -> Console:
    """Console for results; a fixed width where stdout is no terminal, so that piped tables stay whole."""
    _forgive(sys.stdout)
    return Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL, **_PLAIN)


def _forgive(stream: TextIO) -> None:
    """Where a locale cannot show a character, a question mark stands for it and the run goes on."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def messages() -> Console:
    """Console for what a person should know besides the results."""
    _forgive(sys.stderr)
    width = None if sys.stderr.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(stderr=True, width=width, **_PLAIN)


@contextmanager
def progress_bar(
    text: str, *, quiet: bool, is_counted: bool = False
) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr, shown only to a terminal; call it with done, total and what is being done.

    The phase stands first, then how many of how many where that can be counted, the time so far and left.
    """
    console = Console(stderr=True, **_PLAIN)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        *([MofNCompleteColumn()] if is_counted else []),
        TextColumn("{task.fields[doing]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(text, total=None, doing="")

        def advance(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total or None, doing=doing)

        yield advance
