"""`tuner diff`: what changed from one document, or night, to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.commands import options

if TYPE_CHECKING:
    from tuner.recommendation.json_place import Place

Old = Annotated[
    str, typer.Argument(help="A document, or a night's number.", metavar="OLD", show_default=False)
]
New = Annotated[
    str, typer.Argument(help="A document, or a night's number.", metavar="NEW", show_default=False)
]


def diff(
    old: Old,
    new: New,
    store: options.StoreUrl = options.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """Say in words what changed between two documents or nights.

    Example: tuner diff 12 profile.json
    """
    from tuner.recommendation.differences import differences

    sentences = differences(_document(old, store), _document(new, store))
    if as_json:
        import json

        print(json.dumps(sentences, indent=2, ensure_ascii=False))
    else:
        print("\n".join(sentences) or "nothing that matters differs")


def _document(name: str, store: str) -> dict[str, Any]:
    """The document of a file or, for a number, of a night in the store; checked like any other input."""
    from tuner.recommendation.checked_document import check_schema
    from tuner.recommendation.reading_document import document_at, upgraded

    place = upgraded(_place(name, store))
    check_schema(place)
    document_at(place)
    return dict(place.value)


def _place(name: str, store: str) -> Place:
    from tuner.recommendation.json_place import parse_json, read_json

    if not (name.isascii() and name.isdigit()):
        return read_json(name)
    from tuner.commands.scoring import existing_store
    from tuner.measurements.history import entry

    with existing_store(store) as opened:
        return parse_json(entry(opened, int(name)).document, f"night {name}")
