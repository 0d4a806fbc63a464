"""Ends a run on Ctrl-C and SIGTERM in order: what was measured is stored, and a last line says so."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.measurements.store import Store

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(SystemExit):
    """A signal ended the run; on its way up every `finally` still runs. `saved` says what is kept."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.name = signal.Signals(number).name
        self.saved = "nothing was measured yet"

    def __str__(self) -> str:
        return f"stopped by {self.name}; {self.saved}; no document is half written"


def listen() -> None:
    """From now on these signals raise `Stopped`; a second one ends the process at once."""
    for number in SIGNALS:
        signal.signal(number, _stop)


def stop_listening() -> None:
    """The job is done: a signal while the interpreter ends no longer changes the exit code.

    Python gives its own handlers back then, and SIGTERM would end a finished job as a killed one.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is _stop:
            signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    for each in SIGNALS:
        signal.signal(each, signal.SIG_DFL)
    raise Stopped(number)


@contextmanager
def saying_what_is_saved(store: Store) -> Iterator[None]:
    """If the block is stopped, tell how much the store has and how much of it is new."""
    before = store.counts(None)
    try:
        yield
    except Stopped as stopped:
        stopped.saved = _saved(store, before)
        raise


def _saved(store: Store, before: tuple[int, int]) -> str:
    try:
        builds, measurements = store.counts(None)
    except TunerError as error:
        return str(error)
    new = f"{builds - before[0]} builds and {measurements - before[1]} measurements of this run"
    return f"{new} are in {store.shown_url} ({builds} and {measurements} in all), where the next run goes on"
