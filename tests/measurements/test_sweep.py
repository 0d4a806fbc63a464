"""Tests of sweeps and of the sweet spot."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from tests.measurements.recorded_files import MODEL as SMALL
from tests.measurements.recorded_files import engine
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.formula import axis_dimension
from tuner.measurements.sweep import (
    SweepRow,
    sweep_profile,
    sweep_rows,
    sweep_sizes,
    sweep_values,
    sweet_spot,
)
from tuner.model import Model, TensorSpec

MODEL = Model("m", (TensorSpec("x", "float32", (axis_dimension("batch"), axis_dimension("seq"))),))


def rows(latencies: Sequence[float]) -> list[SweepRow]:
    return [
        SweepRow(
            size=Size.of(batch=1 << i), p50_ms=ms, p90_ms=ms, p99_ms=ms, graph_p50_ms=None, h2d_ms=None,
            d2h_ms=None, enqueue_ms=None, io_bytes=4 << i, memory_bytes=(1 << 20) + (4 << i),
            utilisation=0.5, caveats=(),
        )
        for i, ms in enumerate(latencies)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..128", [1, 2, 4, 8, 16, 32, 64, 128]),
        ("1..100", [1, 2, 4, 8, 16, 32, 64, 100]),
        ("3..6:1", [3, 4, 5, 6]),
        ("1..10:4", [1, 5, 9, 10]),
        ("128", [128]),
    ],
)
def test_sweep_reads_doublings_steps_and_single_values(text: str, values: list[int]) -> None:
    assert sweep_values(text) == values


@pytest.mark.parametrize("text", ["", "8..1", "0..4", "1..8:0", "1-8", "-1"])
def test_sweep_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(TunerError, match=r"cannot be read; write it like 1\.\.128"):
        sweep_values(text)


def test_every_combination_is_swept() -> None:
    sizes = sweep_sizes(MODEL, {"batch": "1..4", "seq": "128"})
    assert [size.short for size in sizes] == ["1x128", "2x128", "4x128"]


def test_axis_that_was_left_out_is_told() -> None:
    with pytest.raises(TunerError, match=r"\['batch'\], the model has \['batch', 'seq'\]"):
        sweep_sizes(MODEL, {"batch": "1..4"})


def test_sweep_of_too_many_sizes_is_told() -> None:
    with pytest.raises(TunerError, match="1000 sizes, 512 are accepted"):
        sweep_sizes(MODEL, {"batch": "1..1000:1", "seq": "1"})


def test_profile_of_a_sweep_spans_it_and_tunes_for_the_largest() -> None:
    profile = sweep_profile(sweep_sizes(MODEL, {"batch": "1..4", "seq": "64..128"}), None)
    assert str(profile) == "1x64..4x128..4x128"


def test_memory_of_a_size_is_its_tensors_and_a_context() -> None:
    recorded = engine(4)
    busy = [dataclasses.replace(m, utilisation=0.25) for m in recorded.measurements]
    wide, narrow = Size.of(n=8), Size.of(n=1)
    known = sweep_rows(SMALL, (1000, busy), [narrow, wide])
    assert [row.memory_bytes for row in known] == [1000 + 4 * 4, 1000 + 8 * 4 * 4]
    assert [row.utilisation for row in known] == [0.25, 0.25]
    assert [row.memory_bytes for row in sweep_rows(SMALL, (None, busy), [wide])] == [None]


def test_sweet_spot_is_where_doubling_stops_paying() -> None:
    found = sweet_spot(rows([1.0, 1.1, 1.3, 2.5, 5.0]))
    assert found is not None
    assert found.size == Size.of(batch=4)


def test_sweep_that_still_gains_has_no_sweet_spot() -> None:
    assert sweet_spot(rows([1.0, 1.1, 1.2])) is None
