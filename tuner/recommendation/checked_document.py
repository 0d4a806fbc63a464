"""Reads a document for a command: held against the whole schema and a model, with what-if changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tuner.errors import TunerError, nearest_name
from tuner.model import Model
from tuner.recommendation.document import schema
from tuner.recommendation.document_model import with_model
from tuner.recommendation.json_place import Place, read_json
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import document_at, upgraded
from tuner.recommendation.what_if import changed, document_of_shapes

_MOST_PROBLEMS = 5


def read_document(
    path: str | Path, model: Model | None = None, changes: str | Path | None = None
) -> ProfileDocument:
    """The document with shapes for this model, or for the one that it describes itself.

    With a model, `path` may also hold plain shapes, `{"ids": {"min": [1, 16], "opt": ..., "max": ...}}`.
    `changes` is a file of shapes that replace some of them, to see what would come of it.
    """
    top = read_json(path)
    if model is not None and "schema_version" not in top.value:
        document = document_of_shapes(top, model)
    else:
        newest = upgraded(top)
        check_schema(newest)
        document = document_at(newest)
    if model is not None:
        document = with_model(document, model)
    return changed(document, read_json(changes)) if changes is not None else document


def read_whole(path: str | Path) -> dict[str, Any]:
    """The document as JSON values, valid by the schema and in itself, in the newest form.

    Keys that an older document lacks and that may be null are null.
    """
    newest = upgraded(read_json(path))
    check_schema(newest)
    document_at(newest)  # what a schema cannot say: the order of min, opt and max, and the routing
    whole = schema()
    return dict(_filled(newest.value, whole, whole["$defs"]))


def _filled(value: Any, part: Any, named: Any) -> Any:
    """A valid value with every absent key that may be null."""
    part = _branch(value, part, named)
    if isinstance(value, list):
        return [_filled(item, part.get("items", {}), named) for item in value]
    if not isinstance(value, dict):
        return value
    properties, rest = part.get("properties", {}), part.get("additionalProperties")
    found = {
        key: _filled(member, properties.get(key, rest if isinstance(rest, dict) else {}), named)
        for key, member in value.items()
    }
    absent = [key for key in part.get("required", ()) if key not in found]
    return {**found, **dict.fromkeys(absent)}


def _branch(value: Any, part: Any, named: Any) -> Any:
    """What of the schema describes this value: references followed, of a choice the branch of its kind."""
    while "$ref" in part or "oneOf" in part:
        if "$ref" in part:
            part = named[part["$ref"].rpartition("/")[2]]
        else:
            kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
            branches = [_branch(value, branch, named) for branch in part["oneOf"]]
            part = next((branch for branch in branches if branch.get("type") == kind), {})
    return part


def check_schema(document: Place) -> None:
    """Raise TunerError that names every key which the schema does not accept, the first few of them."""
    import jsonschema

    validator = jsonschema.Draft202012Validator(_tolerant(schema()))
    problems = [text for error in validator.iter_errors(document.value) for text in _texts(error)]
    if problems:
        # Unknown keys first: they are what a person mistyped, and often why others are missing.
        ordered = sorted(dict.fromkeys(problems), key=lambda text: not text.startswith("unknown key"))
        shown = "; ".join(ordered[:_MOST_PROBLEMS])
        more = f"; and {len(ordered) - _MOST_PROBLEMS} more" if len(ordered) > _MOST_PROBLEMS else ""
        raise TunerError(f"{document.file}: {shown}{more}")


def _tolerant(part: Any) -> Any:
    """The schema without `required` for keys that may be null: an absent one reads as null."""
    if isinstance(part, list):
        return [_tolerant(item) for item in part]
    if not isinstance(part, dict):
        return part
    found = {key: _tolerant(value) for key, value in part.items()}
    properties = part.get("properties")
    if isinstance(properties, dict) and isinstance(part.get("required"), list):
        found["required"] = [k for k in part["required"] if not _accepts_null(properties.get(k, {}))]
    return found


def _accepts_null(part: Any) -> bool:
    kinds = part.get("type", ())
    either = (*part.get("oneOf", ()), *part.get("anyOf", ()))
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or any(map(_accepts_null, either))


def _texts(error: Any) -> Iterator[str]:
    """One problem in words; of a choice that fits nowhere, the branch that is not null."""
    if error.validator in ("oneOf", "anyOf") and error.context:
        inner = [e for e in error.context if e.validator not in ("type", "const") or e.absolute_path]
        deeper = [e for e in inner if len(e.absolute_path) >= len(error.absolute_path)]
        for one in deeper or error.context[:1]:
            yield from _texts(one)
        return
    where = _where(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.schema.get("properties"), dict):
        known = error.schema["properties"]
        for key in sorted(set(error.instance) - set(known)):
            yield f"unknown key '{key}' in {where}{nearest_name(key, known)}"
    else:
        yield f"{where}: {error.message[:160]}"


def _where(path: Any) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).lstrip(".") or "the document"
