"""Reads a document for a report: valid by the schema and in itself, or one line that says what is wrong."""

from __future__ import annotations

from pathlib import Path

from tuner.recommendation.checked_document import check_schema
from tuner.recommendation.json_place import read_json
from tuner.recommendation.reading_document import document_at, upgraded
from tuner.report.contents import Json


def read_document(path: str | Path) -> Json:
    """The document as JSON, in the newest form; raises TunerError for what is none of ours."""
    newest = upgraded(read_json(path))
    check_schema(newest)
    document_at(newest)  # what a schema cannot say: the order of min, opt and max, and the routing
    return dict(newest.value)
