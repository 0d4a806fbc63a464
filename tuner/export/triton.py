"""Writes Triton's `config.pbtxt`: as a fragment of its own, or into an existing file.

Facts, from `model_config.proto` and the TensorRT backend: with a `max_batch_size` above 0 the batch stands
in no `dims`; a tensor without dimensions has `dims: [ 1 ]` and an empty `reshape`; every instance group
lists the profiles that it may use, and among them the backend picks the one of the nearest opt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from tuner.errors import TunerError, UsageError
from tuner.export.exported import Exported, ExportOptions
from tuner.export.pbtxt import Edit, Message, applied, field_edits, parse, quoted, unquoted
from tuner.export.profile_models import (
    ROUTING_FILE,
    ProfileModel,
    deployment_note,
    is_model_per_profile,
    model_name,
    profile_models,
    routing_json,
)
from tuner.export.triton_facts import TritonFacts, TritonTensor, triton_facts
from tuner.export.trtexec import trtexec
from tuner.recommendation.profile_document import ProfileDocument

CONFIG_FILE = "config.pbtxt"


def triton(document: ProfileDocument, options: ExportOptions) -> Exported:
    """A fragment for a new `config.pbtxt`, or the existing one with the fields that are ours replaced.

    Where the document's server is a model for each profile, a fragment for each and the client's routing.
    """
    if is_model_per_profile(document, options):
        return _several(document, options)
    facts = triton_facts(document, options)
    if options.existing is None:
        fragment = _fragment(facts)
        return Exported(fragment, facts.notes, {f"{model_name(document)}/{CONFIG_FILE}": fragment})
    return _merged(facts, options.existing, options.existing_name)


def _several(document: ProfileDocument, options: ExportOptions) -> Exported:
    if options.existing is not None:
        raise UsageError(
            f"{document.source}: has a model for each profile, and --into merges into the file of one; give "
            "--to-file FOLDER/ for all of them, or --best-single for one model with one profile"
        )
    files: dict[str, str] = {}
    notes: dict[str, None] = {}
    for one in profile_models(document, options):
        facts = triton_facts(one.document, one.options)
        lines = [*_engine_flags(one), f"name: {quoted(one.name)}\n", _fragment(facts)]
        files[f"{one.name}/{CONFIG_FILE}"] = "".join(lines)
        notes |= dict.fromkeys(facts.notes)
    routing = routing_json(document)
    text = "".join(f"# {path}\n{one}\n" for path, one in files.items())
    text += f"# {ROUTING_FILE}\n" + "".join(f"# {line}\n" for line in routing.splitlines())
    return Exported(text, (*notes, deployment_note(document)), {**files, ROUTING_FILE: routing})


def _engine_flags(one: ProfileModel) -> Iterator[str]:
    """A comment with the flags that build the model's engine; none for what trtexec cannot be told."""
    with contextlib.suppress(TunerError):
        flags = trtexec(one.document, replace(one.options, as_json=False)).text
        yield f"# engine: trtexec {flags.strip()}\n"


def _fragment(facts: TritonFacts) -> str:
    lines = [f"# {line}" for line in facts.set_text]
    lines += ['backend: "tensorrt"', f"max_batch_size: {facts.max_batch_size}"]
    for field, tensors in (("input", facts.inputs), ("output", facts.outputs or ())):
        lines += [_tensor(field, tensor) for tensor in tensors]
    lines += [_instance_group(facts)]
    if facts.max_batch_size > 0:
        lines.append(_dynamic_batching(facts))
    return "\n".join(lines) + "\n"


def _tensor(field: str, tensor: TritonTensor) -> str:
    fields = [f"name: {quoted(tensor.name)}", *(new for _, new in _tensor_fields(tensor) if new)]
    return "\n".join([f"{field} {{", *(f"  {line}" for line in fields), "}"])


def _tensor_fields(tensor: TritonTensor) -> Iterator[tuple[str, str | None]]:
    """Each field of a tensor that is ours, with its text, None where it must not be there."""
    yield "data_type", f"data_type: {tensor.data_type}"
    yield "dims", f"dims: [ {', '.join(map(str, tensor.dims or (1,)))} ]"
    yield "reshape", None if tensor.dims else "reshape { shape: [ ] }"
    yield "is_shape_tensor", "is_shape_tensor: true" if tensor.is_shape_tensor else None


def _profile_field(facts: TritonFacts) -> str:
    return f"profile: [ {', '.join(quoted(str(i)) for i in range(facts.profile_count))} ]"


def _instance_group(facts: TritonFacts) -> str:
    count = f"count: {facts.instance_count}"
    return f"instance_group {{\n  {count}\n  kind: KIND_GPU\n  {_profile_field(facts)}\n}}"


def _batching_fields(facts: TritonFacts) -> Iterator[tuple[str, str | None]]:
    sizes = ", ".join(map(str, facts.preferred_batch_sizes))
    yield "preferred_batch_size", f"preferred_batch_size: [ {sizes} ]" if sizes else None
    if facts.queue_delay_us is not None:
        delay = f"max_queue_delay_microseconds: {facts.queue_delay_us}"
        yield "max_queue_delay_microseconds", delay


def _dynamic_batching(facts: TritonFacts) -> str:
    lines = [f"  {new}" for _, new in _batching_fields(facts) if new]
    return "\n".join(["dynamic_batching {", *lines, "}"])


def _merged(facts: TritonFacts, text: str, name: str) -> Exported:
    top = parse(text, name)
    edits = list(field_edits(text, top, "max_batch_size", f"max_batch_size: {facts.max_batch_size}"))
    added: list[str] = []
    if not top.named("backend") and not top.named("platform"):
        added.append('backend: "tensorrt"')
    for field, tensors in (("input", facts.inputs), ("output", facts.outputs or ())):
        for tensor in tensors:
            edits += _tensor_edits(text, top, field, tensor, added)
    groups = top.messages("instance_group")
    for group in groups:
        edits += field_edits(text, group, "profile", _profile_field(facts))
    if not groups:
        added.append(_instance_group(facts))
    notes = [*facts.notes, *_batching_edits(text, top, facts, edits, added)]
    notes += _foreign_tensors(facts, top, name)
    return Exported(_appended(applied(text, edits), added), tuple(notes))


def _tensor_edits(
    text: str, top: Message, field: str, tensor: TritonTensor, added: list[str]
) -> Iterator[Edit]:
    same = [m for m in top.messages(field) if _name_of(m) == tensor.name]
    if not same:
        added.append(_tensor(field, tensor))
    for message in same:
        for name, new in _tensor_fields(tensor):
            yield from field_edits(text, message, name, new)


def _name_of(message: Message) -> str | None:
    scalars = [scalar for field in message.named("name") for scalar in field.scalars]
    return unquoted(scalars[0]) if scalars else None


def _batching_edits(
    text: str, top: Message, facts: TritonFacts, edits: list[Edit], added: list[str]
) -> Iterator[str]:
    existing = top.messages("dynamic_batching")
    if facts.max_batch_size == 0:
        if existing:
            yield "the model cannot be batched by Triton, but the file has dynamic_batching: remove it"
        return
    for message in existing:
        for name, new in _batching_fields(facts):
            edits += field_edits(text, message, name, new)
    if existing:
        return
    others = [name for name in ("sequence_batching", "ensemble_scheduling") if top.named(name)]
    if others:
        yield f"the file has {others[0]}, so dynamic_batching was not added"
    else:
        added.append(_dynamic_batching(facts))


def _foreign_tensors(facts: TritonFacts, top: Message, name: str) -> Iterator[str]:
    for field, tensors in (("input", facts.inputs), ("output", facts.outputs)):
        if tensors is None:
            continue
        known = {tensor.name for tensor in tensors}
        foreign = [str(n) for m in top.messages(field) if (n := _name_of(m)) not in known]
        if foreign:
            yield f"{name} has the {field}s {', '.join(foreign)}, which the model lacks; they were left"


def _appended(text: str, added: list[str]) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    return text + "".join(f"{one}\n" for one in added)
