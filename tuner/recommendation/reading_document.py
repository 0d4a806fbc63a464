"""Reads a profile document back, of this version or an older one, and checks it as if edited by hand.

Compatibility: within one schema version keys are only added, and a key that is absent reads as null; the
version rises when a key changes its meaning or goes away, and `UPGRADES` then turns the older form into
the newer. So a newer `tuner` reads every older document, and an older one refuses a newer document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.model import Model
from tuner.model_inputs import model_from_dict
from tuner.profiles.profile import OptimizationProfile, ProfileSet, TensorRange
from tuner.recommendation.document_model import with_model
from tuner.recommendation.json_place import Place, read_json
from tuner.recommendation.profile_document import (
    BatcherSettings,
    DocumentProfile,
    ProfileDocument,
    TensorRanges,
    check_range,
)

SCHEMA_VERSION = 1
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADES: Mapping[int, Upgrade] = {}
"""What turns a document of a version into one of the next; version 1 is the first."""

POLICIES = ("best", "first_fit", "sticky", "profile_zero", "nearest_opt")


def load(path: str | Path) -> ProfileDocument:
    """Read a document, for use in a server: needs nothing beside the standard library.

    Raises TunerError, in one line, for what is no document, for one of a newer version, for min, opt and
    max out of order, for shapes that the document's own model does not have, and for a routing table that
    sends a size to a profile which does not cover it.
    """
    return document_at(upgraded(read_json(path)))


def upgraded(
    document: Place, newest: int = SCHEMA_VERSION, upgrades: Mapping[int, Upgrade] = UPGRADES
) -> Place:
    """The document in the newest form; TunerError for no document of ours and for a newer version."""
    if "schema_version" not in document.entries():
        raise TunerError(
            f"{document.file}: is no document of tuner (it has no schema_version); give the file that "
            "tuner recommend wrote"
        )
    version = document.key("schema_version").whole(least=1)
    if version > newest:
        raise TunerError(
            f"{document.file}: has schema version {version}; this tuner reads up to {newest}, so upgrade "
            "tuner or write the document again with this one"
        )
    value = document.value
    for step in range(version, newest):
        value = upgrades[step](value)
    return Place(value, document.file)


def document_at(top: Place) -> ProfileDocument:
    """The typed document; every problem names its place."""
    written = top.key("profiles").items()
    if not written:
        raise top.key("profiles").wrong("at least one profile is accepted")
    axes = tuple(written[0].key("min").entries())
    profiles = tuple(_profile(i, place, axes) for i, place in enumerate(written))
    _check_set(top.file, profiles)
    routing = top.key("routing")
    evidence = top.key("evidence")
    facts = evidence if isinstance(evidence.value, dict) else Place({}, top.file, "evidence")
    model = top.optional("model")
    document = ProfileDocument(
        source=top.file,
        schema_version=top.key("schema_version").whole(),
        decision=top.key("decision").text(),
        reason=top.key("reason").text(),
        profiles=profiles,
        policy=_policy(routing.key("policy")),
        table=_table(routing.key("table"), profiles),
        alternatives=_alternatives(top.optional("alternatives"), axes),
        batcher=_batcher(top.optional("batcher")),
        client_routing=_client_routing(top.optional("batching"), profiles),
        model=_model(model),
        model_hash=_text(facts, "model_hash") or (_text(model, "hash") if model else None),
        tensorrt=_text(facts, "tensorrt"),
        flavour=_text(facts, "flavour"),
    )
    return with_model(document, document.model) if document.model else document


def _profile(index: int, place: Place, axes: tuple[str, ...]) -> DocumentProfile:
    written = place.key("index").whole()
    if written != index:
        raise place.key("index").wrong(f"this is profile {index} of the list, so {index} is accepted")
    found = _range(place, axes)
    shares = [place.optional(name) for name in ("requests_share", "work_share")]
    requests, work = (share.number() if share else None for share in shares)
    tensors = place.optional("tensors")
    return DocumentProfile(
        index=index,
        range=found,
        tensors=_tensors(tensors) if tensors else None,
        requests_share=requests,
        work_share=work,
    )


def _range(place: Place, axes: tuple[str, ...]) -> OptimizationProfile:
    try:
        return OptimizationProfile(*(_size(place.key(bound), axes) for bound in ("min", "opt", "max")))
    except TunerError as error:
        prefix = "" if str(error).startswith(place.file) else f"{place.file}: {place.path}: "
        raise TunerError(f"{prefix}{error}") from None


def _size(place: Place, axes: tuple[str, ...]) -> Size:
    return Size.from_mapping({axis: value.whole() for axis, value in place.entries().items()}, axes)


def _tensors(place: Place) -> TensorRanges:
    return {name: tensor_range(entry) for name, entry in place.entries().items()}


def tensor_range(place: Place) -> TensorRange:
    """Min, opt and max shape, and values where there are any, in order."""
    carried = place.optional("values")
    values = {bound: _shape(carried.key(bound)) for bound in ("min", "opt", "max")} if carried else None
    low, opt, high = (_shape(place.key(bound)) for bound in ("min", "opt", "max"))
    found = TensorRange(low, opt, high, values)
    check_range(found, f"{place.file}: {place.path}")
    return found


def _shape(place: Place) -> tuple[int, ...]:
    return tuple(item.whole() for item in place.items())


def _check_set(file: str, profiles: tuple[DocumentProfile, ...]) -> None:
    """Raise TunerError for mixed inputs and for a profile that is there twice."""
    ranges: dict[OptimizationProfile, int] = {}
    for profile in profiles:
        if (profile.tensors is None) != (profiles[0].tensors is None) or (
            set(profile.tensors or ()) != set(profiles[0].tensors or ())
        ):
            raise TunerError(f"{file}: profiles[{profile.index}].tensors has other inputs than profiles[0]")
        if profile.range in ranges:
            raise TunerError(
                f"{file}: profiles[{profile.index}] is the same as profiles[{ranges[profile.range]}] and "
                "would never be used; remove one of them"
            )
        ranges[profile.range] = profile.index


def _policy(place: Place) -> str:
    if place.value not in POLICIES:
        raise place.wrong(f"accepted are {', '.join(POLICIES)}")
    return place.text()


def _table(place: Place, profiles: tuple[DocumentProfile, ...]) -> Mapping[Size, int]:
    table: dict[Size, int] = {}
    for entry in place.items():
        size, index = _routed(entry, profiles)
        if not profiles[index].range.covers(size):
            raise entry.wrong(f"profile {index} ({profiles[index].range}) does not cover that size")
        table[size] = index
    return table


def _routed(entry: Place, profiles: tuple[DocumentProfile, ...]) -> tuple[Size, int]:
    size, index = _size(entry.key("size"), profiles[0].range.axes), entry.key("profile").whole()
    if index >= len(profiles):
        raise entry.key("profile").wrong(f"the profiles are 0 to {len(profiles) - 1}")
    return size, index


def _client_routing(
    batching: Place | None, profiles: tuple[DocumentProfile, ...]
) -> Mapping[Size, int] | None:
    """Not checked for coverage: a request may be padded to a larger size before it is executed."""
    routing = batching.optional("client_routing") if batching else None
    return None if routing is None else dict(_routed(entry, profiles) for entry in routing.items())


def _alternatives(place: Place | None, axes: tuple[str, ...]) -> Mapping[str, ProfileSet]:
    found = {}
    for policy, entry in place.entries().items() if place else ():
        if entry.value is not None:
            ranges = [_range(one, axes) for one in entry.key("profiles").items()]
            found[policy] = ProfileSet(tuple(ranges))
    return found


def _batcher(place: Place | None) -> BatcherSettings | None:
    if place is None:
        return None
    preferred = tuple(size.whole(least=1) for size in place.key("preferred_batch_size").items())
    delay = place.key("max_queue_delay_microseconds").whole()
    instances = place.optional("instance_count")
    count = 1 if instances is None else instances.whole(least=1)
    return BatcherSettings(place.key("max_batch").whole(least=1), preferred, delay, count)


def _text(place: Place, key: str) -> str | None:
    found = place.optional(key)
    return found.text() if found else None


def _model(place: Place | None) -> Model | None:
    if place is None:
        return None
    try:
        return model_from_dict(place.value)
    except TunerError as error:
        raise TunerError(f"{place.file}: model: {error}") from None
