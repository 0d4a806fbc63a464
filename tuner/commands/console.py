"""The two consoles: results on stdout, progress and messages on stderr and only for a person."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

WIDTH_WITHOUT_TERMINAL = 120


def results() -> Console:
    """Console for results; a fixed width where stdout is no terminal, so that piped tables stay whole."""
    return Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL, highlight=False)


def messages() -> Console:
    """Console for what a person should know besides the results."""
    return Console(
        stderr=True, width=None if sys.stderr.isatty() else WIDTH_WITHOUT_TERMINAL, highlight=False
    )


@contextmanager
def progress_bar(text: str, *, quiet: bool) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr, shown only to a terminal; call it with done, total and what is being done."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[doing]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task(text, total=None, doing="")

        def advance(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total or None, doing=doing)

        yield advance
