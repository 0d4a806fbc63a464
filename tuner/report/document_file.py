"""Reads a document for a report: valid by the schema, or one line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from tuner.errors import TunerError
from tuner.recommendation.document import SCHEMA_VERSION, schema
from tuner.report.contents import Json


def read_document(path: str | Path) -> Json:
    """The document of a file. Raises TunerError for anything that is none, or one of a newer version."""
    import jsonschema

    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TunerError(f"{path}: no such file; give the document that 'tuner recommend' wrote") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TunerError(f"{path}: cannot be read ({error})") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise TunerError(f"{path}: is no JSON ({error})") from error
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise TunerError(f"{path}: has schema version {version}, this tuner reads up to {SCHEMA_VERSION}")
    try:
        jsonschema.validate(document, schema())
    except jsonschema.ValidationError as error:
        place = error.json_path.removeprefix("$.")
        raise TunerError(f"{path}: is no document of tuner, at {place}: {error.message[:160]}") from error
    return dict(document)
