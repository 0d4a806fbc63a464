"""Takes a document apart whose profiles are models of their own, and writes which size goes to which."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.export.exported import ExportOptions
from tuner.recommendation.profile_document import DocumentProfile, ProfileDocument

ROUTING_FILE = "client_routing.json"
_OTHER_SIZES = (
    "a size that is not listed goes where the nearest listed size goes (least sum over the axes of the "
    "absolute difference of logarithms), of those whose model has it between its min and max"
)


@dataclass(frozen=True, slots=True)
class ProfileModel:
    """A model with one profile: the document as if it had that profile alone, and the options for it."""

    name: str
    document: ProfileDocument
    options: ExportOptions


def is_model_per_profile(document: ProfileDocument, options: ExportOptions) -> bool:
    """Whether the chosen set is exported and is meant as several models."""
    asked_otherwise = options.best_single or options.alternative is not None
    return document.client_routing is not None and len(document.profiles) > 1 and not asked_otherwise


def profile_models(document: ProfileDocument, options: ExportOptions) -> Iterator[ProfileModel]:
    """A model for each profile, in order; batches that a person asked for are cut to the profile's."""
    for profile in document.profiles:
        yield ProfileModel(
            f"{model_name(document)}_{profile.index}",
            replace(
                document,
                profiles=(replace(profile, index=0),),
                table={},
                alternatives={},
                client_routing=None,
            ),
            replace(options, max_batch_size=_asked_batch(document, profile, options)),
        )


def _asked_batch(document: ProfileDocument, profile: DocumentProfile, options: ExportOptions) -> int | None:
    """What is beyond every profile is left as it is, and refused like that of a single model."""
    axis = document.model.batch_axis if document.model else None
    asked = options.max_batch_size
    if asked is None or axis is None or asked > max(one.range.max[axis] for one in document.profiles):
        return asked
    return min(asked, profile.range.max[axis])


def model_name(document: ProfileDocument) -> str:
    """The model's name as a folder and a URL take it."""
    name = document.model.name if document.model else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "model"


def routing_json(document: ProfileDocument) -> str:
    """The client's routing: `axes`, the `models` with their ranges, and the model of each listed size.

    A size is a list of values in the order of `axes`.
    """
    name = model_name(document)
    sizes = (document.client_routing or {}).items()
    head = json.dumps({"axes": list(document.axes), "other_sizes": _OTHER_SIZES}, indent=2)[:-2]
    models = [
        {
            "name": f"{name}_{profile.index}",
            "profile": profile.index,
            **{bound: list(getattr(profile.range, bound).values) for bound in ("min", "opt", "max")},
        }
        for profile in document.profiles
    ]
    listed = [{"size": list(size.values), "model": f"{name}_{index}"} for size, index in sizes]
    return f'{head},\n  "models": {_rows(models)},\n  "sizes": {_rows(listed)}\n}}\n'


def _rows(entries: Sequence[Mapping[str, object]]) -> str:
    """A line for each entry: hundreds of sizes are to be read by people too."""
    if not entries:
        return "[]"
    return "[\n    " + ",\n    ".join(map(json.dumps, entries)) + "\n  ]"


def deployment_note(document: ProfileDocument) -> str:
    """What has to be done for models of their own."""
    count, name = len(document.profiles), model_name(document)
    return (
        f"the document serves {count} models, {name}_0 to {name}_{count - 1}: build an engine for each (its "
        f"flags stand in its file), and let the client send each size to the model that {ROUTING_FILE} names"
    )
