"""The errors that `tuner` reports in one line; everything else is a bug.

TunerError                 exit 1: what was wrong, what was seen, what is accepted, what to do
├── UsageError             exit 2: the command line itself does not make sense
├── NothingFeasible        exit 3: finished, but nothing meets the constraints or nothing is covered
├── DamagedFile            one log file cannot be read whole: a counted problem beside others, exit 1 alone
└── EngineError            a build or a run failed: becomes an outcome inside a search, exit 1 alone
    ├── BuildFailed
    └── RunFailed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TunerError(Exception):
    """Root of all errors that a user can cause; `commands.main` catches it, and nothing else does."""

    exit_code = 1

    def __str__(self) -> str:
        """One line whatever the inputs hold: names from files may carry line breaks and terminal codes."""
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in super().__str__())


class UsageError(TunerError):
    """Options that contradict each other or cannot be read."""

    exit_code = 2


class NothingFeasible(TunerError):
    """The run finished and there is nothing to recommend; no document is written."""

    exit_code = 3


class DamagedFile(TunerError):
    """A log file that is cut, broken or of a kind that is not read; none of its rows are used."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


class EngineError(TunerError):
    """TensorRT, CUDA or a child process failed on one engine; `kind` is the outcome in one word."""

    def __init__(self, reason: str, kind: str = "failed") -> None:
        super().__init__(reason)
        self.kind = kind


class BuildFailed(EngineError):
    """The builder gave no engine."""


class RunFailed(EngineError):
    """An engine could not be opened or timed."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """A hint like `; did you mean 'seq_len'?`, empty where nothing comes close."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean '{close[0]}'?" if close else ""
