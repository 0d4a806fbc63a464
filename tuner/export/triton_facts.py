"""What Triton's model configuration has to say of a profile set: batch size, tensors, profiles, batching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.errors import TunerError, UsageError
from tuner.export.export_set import ExportSet, alternative, asked_set, chosen_set
from tuner.export.exported import ExportOptions, Version, tensorrt_version
from tuner.export.router import Router, nearest_opt
from tuner.formula import Formula
from tuner.model import Model, OutputSpec, TensorSpec
from tuner.recommendation.profile_document import BatcherSettings, ProfileDocument

FIRST_WITH_INT64 = (10, 0)
_DATA_TYPES: Mapping[str, str] = {
    "bool": "TYPE_BOOL", "uint8": "TYPE_UINT8", "int8": "TYPE_INT8", "int32": "TYPE_INT32",
    "int64": "TYPE_INT64", "float16": "TYPE_FP16", "bfloat16": "TYPE_BF16", "float32": "TYPE_FP32",
}  # fmt: skip
"""The types that an engine's inputs and outputs can have."""


@dataclass(frozen=True, slots=True)
class TritonTensor:
    """An input or output: dimensions without the batch, -1 for an open one, none at all for a scalar."""

    name: str
    data_type: str
    dims: tuple[int, ...]
    is_shape_tensor: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonFacts:
    """Everything that the export writes; `outputs` is None where they are not known.

    `max_batch_size` is 0 for a model that Triton cannot batch. `set_text` has a line for each profile.
    """

    max_batch_size: int
    inputs: tuple[TritonTensor, ...]
    outputs: tuple[TritonTensor, ...] | None
    profile_count: int
    preferred_batch_sizes: tuple[int, ...]
    queue_delay_us: int | None
    instance_count: int
    set_text: tuple[str, ...]
    notes: tuple[str, ...]


def triton_facts(document: ProfileDocument, options: ExportOptions) -> TritonFacts:
    """The facts of what was asked for; by default of the set that serves best under Triton's own routing."""
    model = document.model
    if model is None:
        raise TunerError(
            f"{document.source}: does not describe the model, so Triton's inputs are not known; give the "
            "model with --model FILE.onnx"
        )
    found = _set_for_triton(document, model, options)
    notes = list(found.notes)
    if not model.outputs:
        notes.append(
            "the model's outputs are not known, so they are left out and batching is judged by the inputs "
            "alone; Triton completes them from the engine, or give --model FILE.onnx"
        )
    batch = model.batch_axis
    types = _Types(document, options)
    inputs = tuple(_input(tensor, batch, types) for tensor in model.inputs)
    outputs = tuple(_output(tensor, batch, types) for tensor in model.outputs) or None
    if types.assumed:
        notes.append(
            f"{', '.join(types.assumed)}: int64 as TensorRT 10 and later have it; an engine of an earlier "
            "release has int32, for which give --for-version 8.6"
        )
    largest = _max_batch_size(found, batch, options, document.batcher)
    return TritonFacts(
        max_batch_size=largest,
        inputs=inputs,
        outputs=outputs,
        profile_count=len(found),
        preferred_batch_sizes=_preferred(found, batch, largest, document.batcher),
        queue_delay_us=_queue_delay(document.batcher, options),
        instance_count=1 if document.batcher is None else document.batcher.instance_count,
        set_text=_set_text(found),
        notes=tuple(notes),
    )


def _set_text(found: ExportSet) -> tuple[str, ...]:
    axes = " x ".join(found.ranges[0].axes)
    return tuple(f"profile {i} ({axes}): {one}" for i, one in enumerate(found.ranges)) if axes else ()


def _set_for_triton(document: ProfileDocument, model: Model, options: ExportOptions) -> ExportSet:
    if options.best_single or options.alternative is not None:
        return asked_set(document, options)
    if len(document.profiles) == 1 or document.policy == "nearest_opt":
        return chosen_set(document)
    differing, share = _routed_otherwise(document, model)
    if not differing:
        return chosen_set(document)
    if "nearest_opt" not in document.alternatives:
        raise TunerError(
            f"{document.source}: relies on the routing {document.policy}, but Triton picks the profile of "
            f"the nearest opt and would send {differing} of {share} sizes elsewhere; the document has no "
            "alternatives.nearest_opt, so recommend again, or export --best-single"
        )
    found = alternative(document, "nearest_opt")
    note = (
        f"the document relies on the routing {document.policy}, but Triton picks the profile of the nearest "
        f"opt and would send {differing} of {share} sizes elsewhere; this is the best set under Triton's "
        "routing: build the engine from it (--alternative nearest_opt)"
    )
    return ExportSet(found.ranges, found.tensors, (*found.notes, note))


def _routed_otherwise(document: ProfileDocument, model: Model) -> tuple[int, int]:
    """How many of the sizes that the routing lists Triton would route otherwise, and how many there are."""
    ours = Router(document)
    theirs = nearest_opt(tuple(document.profile_set), model)
    sizes = [size.values for size in document.table] or [p.range.opt.values for p in document.profiles]
    return sum(ours(*size) != theirs(size) for size in sizes), len(sizes)


def _max_batch_size(
    found: ExportSet, batch: str | None, options: ExportOptions, batcher: BatcherSettings | None
) -> int:
    """As asked, as the document's batcher has it, or the largest batch of the profiles."""
    asked = options.max_batch_size
    if batch is None:
        if asked:
            raise UsageError(
                f"--max-batch-size {asked}: the model's inputs and outputs have no common first dimension "
                "that is open, so Triton cannot batch it; leave the option out"
            )
        return 0
    largest = max(one.max[batch] for one in found.ranges)
    if asked is not None and asked > largest:
        raise TunerError(
            f"--max-batch-size {asked} is more than {largest}, the largest {batch} of the profiles; Triton "
            f"would refuse the engine: ask for {largest} at most, or recommend for larger batches"
        )
    if asked is None and batcher is not None:
        return min(batcher.max_batch, largest)
    return largest if asked is None else asked


def _preferred(
    found: ExportSet, batch: str | None, largest: int, batcher: BatcherSettings | None
) -> tuple[int, ...]:
    """As judged with, or the batches that the profiles were tuned for; preferring 1 would be not to batch."""
    if batch is None:
        return ()
    if batcher is not None:
        return tuple(sorted({size for size in batcher.preferred_batch_size if size <= largest}))
    return tuple(sorted({one.opt[batch] for one in found.ranges if 1 < one.opt[batch] <= largest}))


def _queue_delay(batcher: BatcherSettings | None, options: ExportOptions) -> int | None:
    if options.queue_delay_us is None and batcher is not None:
        return batcher.max_queue_delay_microseconds
    return options.queue_delay_us


class _Types:
    """Triton's data types as the engine will report them: before release 10, TensorRT narrows int64.

    `assumed` lists the int64 tensors for which no release was known.
    """

    def __init__(self, document: ProfileDocument, options: ExportOptions) -> None:
        self.source = document.source
        self.version: Version | None = tensorrt_version(document, options)
        self.assumed: list[str] = []

    def of(self, name: str, dtype: str) -> str:
        if dtype not in _DATA_TYPES:
            raise TunerError(f"{self.source}: {name} has the dtype {dtype}, which no TensorRT engine has")
        if dtype != "int64":
            return _DATA_TYPES[dtype]
        if self.version is None:
            self.assumed.append(name)
            return "TYPE_INT64"
        return "TYPE_INT64" if self.version >= FIRST_WITH_INT64 else "TYPE_INT32"


def _input(tensor: TensorSpec, batch: str | None, types: _Types) -> TritonTensor:
    dims = tuple(_dims(tensor.dims, batch))
    return TritonTensor(tensor.name, types.of(tensor.name, tensor.dtype), dims, tensor.is_shape_tensor)


def _output(tensor: OutputSpec, batch: str | None, types: _Types) -> TritonTensor:
    return TritonTensor(tensor.name, types.of(tensor.name, tensor.dtype), tuple(_dims(tensor.dims, batch)))


def _dims(dims: tuple[int | str | Formula | None, ...], batch: str | None) -> Iterator[int]:
    for dim in dims if batch is None else dims[1:]:
        yield dim if isinstance(dim, int) else -1
