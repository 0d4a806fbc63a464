"""Reads a document for a report: valid by the schema and in itself, or one line that says what is wrong."""

from __future__ import annotations

from pathlib import Path

from tuner.recommendation.checked_document import read_whole
from tuner.report.contents import Json


def read_document(path: str | Path) -> Json:
    """The document as JSON, in the newest form; raises TunerError for what is none of ours."""
    return read_whole(path)
