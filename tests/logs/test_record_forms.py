"""Record forms of other tools, as they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.logs.log_files import csv, lines, parquet, percentiles, read, rejected
from tuner.errors import TunerError
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec

BATCH, SEQ = axis_dimension("batch"), axis_dimension("seq")
ENCODER = Model("m", (TensorSpec("ids", "int64", (BATCH, SEQ)), TensorSpec("mask", "int64", (BATCH, SEQ))))


def triton_events(request: int, shape: str, mask: str) -> list[dict[str, Any]]:
    return [
        {"id": request, "model_name": "m", "model_version": 1},
        {"id": request, "timestamps": [{"name": "REQUEST_START", "ns": 2_259_961_222_771_924 + request}]},
        {
            "id": request,
            "activity": "TENSOR_QUEUE_INPUT",
            "tensor": {"name": "ids", "data": "1,2", "shape": shape},
        },
        {"id": request, "activity": "TENSOR_QUEUE_INPUT", "tensor": {"name": "mask", "shape": mask}},
        {"id": request, "activity": "TENSOR_BACKEND_OUTPUT", "tensor": {"name": "y", "shape": "9,9"}},
    ]


@pytest.mark.parametrize("form", ["array", "lines"])
def test_a_triton_trace_gives_a_request_for_each_traced_id(tmp_path: Path, form: str) -> None:
    events = [
        e
        for pair in zip(triton_events(1, "8,128", "8,128"), triton_events(2, "4,64", "4,65"), strict=True)
        for e in pair
    ]
    events.append({"id": 3, "model_name": "m", "model_version": 1})
    log = tmp_path / "trace.json"
    log.write_text(json.dumps(events)) if form == "array" else lines(log, events)

    traffic = read(log, model=ENCODER)

    assert traffic.histogram.sizes.tolist() == [[8, 128]]
    assert rejected(traffic) == {"inputs_disagree": 1}
    assert "times are in column 'timestamp_ns', in ns" in traffic.notes


def test_perf_analyzers_input_data_are_requests_of_batch_1(tmp_path: Path) -> None:
    steps = [
        {"ids": {"content": [1], "shape": [n]}, "mask": {"content": [1], "shape": [n]}} for n in (64, 128)
    ]
    log = tmp_path / "data.json"
    log.write_text(json.dumps({"data": [steps[0], [steps[1]], {"ids": [1, 2]}]}))

    traffic = read(log, model=ENCODER)

    assert traffic.histogram.sizes.tolist() == [[1, 64], [1, 128]]
    assert rejected(traffic) == {"missing": 1}


def test_a_mooncake_trace_counts_milliseconds(tmp_path: Path) -> None:
    rows = [{"timestamp": t, "input_length": 7, "output_length": 1, "hash_ids": [0]} for t in (0, 3000)]

    traffic = read(lines(tmp_path / "a.jsonl", rows))

    assert traffic.start is not None
    assert traffic.end is not None
    assert (traffic.end - traffic.start).total_seconds() == 3


def test_an_azure_llm_trace_reads_as_it_stands(tmp_path: Path) -> None:
    log = csv(
        tmp_path / "a.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n",
    )

    traffic = read(log)

    assert percentiles(traffic, "seq", 50) == [374]
    assert traffic.start is not None
    assert traffic.start.microsecond == 680_590


def test_times_that_count_from_the_start_of_a_trace_are_told_of(tmp_path: Path) -> None:
    relative = lines(tmp_path / "a.jsonl", [{"timestamp": 3000, "input_length": 7}])
    dated = lines(tmp_path / "b.jsonl", [{"timestamp": 1_714_521_600, "input_length": 7}])
    start = "times start at 1970, so they seem to count from the start of the log"

    assert start in read(relative).notes
    assert start not in read(dated).notes


def test_sessions_of_an_agent_need_a_mapping_and_have_no_common_time(tmp_path: Path) -> None:
    columns = {
        "trace_id": ["a", "a", "b"],
        "agent_id": [None, "x", None],
        "t": [0.0, 0.0, 2.5],
        "in": [6343, 50_000, 880_502],
        "out": [0, 103, 18_195],
        "stop": ["end", None, "end"],
    }
    log = parquet(tmp_path / "a.parquet", columns)

    with pytest.raises(TunerError, match="columns: trace_id, agent_id, t, in, out, stop; map them"):
        read(log)
    traffic = read(log, axes={"seq": "in"})
    assert percentiles(traffic, "seq", 0, 50, 100) == [6343, 50_000, 880_502]
    assert traffic.start is None
    assert traffic.holdout_by == "hash"
    assert rejected(read(log, axes={"seq": "in", "out": "out"})) == {"not_positive": 1}


def test_a_histogram_by_client_and_window_weighs_its_sizes(tmp_path: Path) -> None:
    columns = {
        "client_id": [1, 1, 2],
        "timestamp": [0, 21_600, 21_600],
        "input_tokens": [19, 40, 0],
        "count": [115_250_911, 3, 2],
    }

    traffic = read(parquet(tmp_path / "a.parquet", columns))

    assert traffic.log_kind == "histogram"
    assert traffic.histogram.request_count == 115_250_914
    assert rejected(traffic) == {"not_positive": 1}


def test_rates_of_arrivals_are_no_sizes(tmp_path: Path) -> None:
    columns = {"client_id": [1, 2], "timestamp": [0, 600], "rate": [0.0, 0.25], "cv": [1.0, 1.1]}
    log = parquet(tmp_path / "a.parquet", columns)

    with pytest.raises(
        TunerError, match="no column is a known axis; columns: client_id, timestamp, rate, cv"
    ):
        read(log)
    with pytest.raises(TunerError, match="no usable rows: 2 rows read, not_whole 1, not_positive 1"):
        read(log, axes={"seq": "rate"})


def test_sizes_of_images_are_two_axes_without_a_time(tmp_path: Path) -> None:
    columns = {"id": [7, 8], "height": [480, 640], "width": [640, 427], "file_name": ["a.jpg", "b.jpg"]}

    traffic = read(parquet(tmp_path / "a.parquet", columns))

    assert traffic.axes == ("height", "width")
    assert traffic.histogram.sizes.tolist() == [[480, 640], [640, 427]]
    assert traffic.start is None


@pytest.mark.parametrize("number", [[1], {"a": 1}, None])
def test_a_triton_event_without_a_usable_id_is_a_rejected_row(tmp_path: Path, number: object) -> None:
    events = [*triton_events(1, "8,128", "8,128"), {"id": number, "activity": "TENSOR_QUEUE_INPUT"}]
    log = tmp_path / "trace.json"
    log.write_text(json.dumps(events))

    traffic = read(log, model=ENCODER)

    assert traffic.histogram.sizes.tolist() == [[8, 128]]
    assert rejected(traffic) == {"missing": 1}
