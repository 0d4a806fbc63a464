"""The samples of every form hold the same requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.logs.log_files import percentiles, read

FORMS = Path(__file__).parents[2] / "sample_logs" / "forms"
SHAPE = {"shapes": {"input_ids": "shape"}}
MEDIAN_SEQ = percentiles(read(FORMS / "requests.csv"), "seq", 50)


@pytest.mark.parametrize(
    ("name", "settings", "axis"),
    [
        ("requests.csv", {}, "seq"),
        ("requests.jsonl.zst", {}, "seq"),
        ("array.json", {}, "seq"),
        ("values.json", {}, "seq"),
        ("by_batch", {}, "seq"),
        ("shapes.parquet", SHAPE, "input_ids[1]"),
        ("shape_texts.jsonl", SHAPE, "input_ids[1]"),
        ("triton_trace.json", {}, "input_ids[1]"),
        ("perf_analyzer.json", {}, "input_ids[0]"),
        ("mooncake.jsonl", {}, "seq"),
    ],
)
def test_every_form_gives_the_same_lengths(name: str, settings: dict[str, Any], axis: str) -> None:
    traffic = read(FORMS / name, **settings)

    assert traffic.histogram.request_count == 200
    assert percentiles(traffic, axis, 50) == MEDIAN_SEQ


def test_cumulative_buckets_hold_every_request() -> None:
    assert read(FORMS / "cumulative.csv", axes={"seq": "le"}).histogram.request_count == 200


def test_counters_hold_what_came_between_the_snapshots() -> None:
    assert read(FORMS / "counters.csv", log_kind="counters").histogram.request_count == 100


def test_samples_are_small() -> None:
    assert all(file.stat().st_size < 1_000_000 for file in FORMS.rglob("*") if file.is_file())
