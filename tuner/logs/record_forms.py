"""Record forms of other tools: JSON documents that become plain rows, and traces whose columns are known.

Triton traces (level TENSORS) spread a request over many events; perf_analyzer's input data is one document
that holds all requests. Both become rows with the shapes of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from tuner.logs.layout import Layout

WITHOUT_BATCH = "shapes_without_batch"
"""Key of shapes that leave the batch out, since the tool sends one item a request."""

_MOST_OPEN_REQUESTS = 100_000
_START_EVENTS = ("REQUEST_START", "HTTP_RECV_START", "GRPC_WAITREAD_START", "QUEUE_START")
_MOONCAKE = frozenset(("timestamp", "input_length", "output_length", "hash_ids"))


def time_unit_of(layout: Layout) -> str | None:
    """The unit of bare times in a trace that is known by its columns: Mooncake counts milliseconds."""
    return "ms" if set(layout) >= _MOONCAKE else None


def plain_rows(values: Iterator[Any]) -> Iterator[Any]:
    """JSON values as rows; values that no known form claims are rows as they stand."""
    first = list(islice(values, 1))
    values = chain(first, values)
    for is_form, rows in _FORMS:
        if first and isinstance(first[0], dict) and is_form(first[0]):
            return rows(values)
    return values


def is_record_form(value: Any) -> bool:
    """Whether a file that starts with this value has to be read as a whole."""
    return isinstance(value, dict) and any(is_form(value) for is_form, _ in _FORMS)


def _is_triton_event(value: Mapping[str, Any]) -> bool:
    is_event = "timestamps" in value or "activity" in value
    return "id" in value and (is_event or {"model_name", "model_version"} <= value.keys())


def _triton_requests(events: Iterable[Any]) -> Iterator[Any]:
    """A row for each traced request that shows the shape of an input; the others have no size to tell."""
    requests: dict[Any, dict[str, Any]] = {}
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("id"), (int, float, str)):
            yield event
            continue
        if event["id"] not in requests and len(requests) >= _MOST_OPEN_REQUESTS:
            yield from _finished([requests.pop(next(iter(requests)))])
        _add_event(requests.setdefault(event["id"], {"shapes": {}}), event)
    yield from _finished(requests.values())


def _finished(requests: Iterable[dict[str, Any]]) -> Iterator[Any]:
    return (request for request in requests if request["shapes"])


def _add_event(request: dict[str, Any], event: dict[str, Any]) -> None:
    stamps = event.get("timestamps")
    for stamp in stamps if isinstance(stamps, list) else ():
        if isinstance(stamp, dict) and str(stamp.get("name", "")).upper().replace(" ", "_") in _START_EVENTS:
            request.setdefault("timestamp_ns", stamp.get("ns"))
    tensor = event.get("tensor")
    if event.get("activity") in ("TENSOR_QUEUE_INPUT", "TENSOR_BACKEND_INPUT") and isinstance(tensor, dict):
        request["shapes"].setdefault(str(tensor.get("name")), tensor.get("shape"))


def _is_perf_analyzer(value: Mapping[str, Any]) -> bool:
    data = value.get("data")
    return isinstance(data, list) and set(value) <= {"data", "validation_data"}


def _perf_analyzer_requests(documents: Iterable[Any]) -> Iterator[Any]:
    for document in documents:
        if not isinstance(document, dict) or not isinstance(document.get("data"), list):
            yield document
            continue
        for entry in document["data"]:
            for step in entry if isinstance(entry, list) else (entry,):
                yield {WITHOUT_BATCH: _shapes(step)} if isinstance(step, dict) else step


def _shapes(step: Mapping[str, Any]) -> dict[str, Any]:
    """The shape that each input states; without one it depends on the tool's command line."""
    return {name: value.get("shape") if isinstance(value, dict) else None for name, value in step.items()}


_FORMS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Iterable[Any]], Iterator[Any]]], ...] = (
    (_is_triton_event, _triton_requests),
    (_is_perf_analyzer, _perf_analyzer_requests),
)
