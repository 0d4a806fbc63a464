"""Exact text of a sweep's table, bars, sentence and CSV."""

from __future__ import annotations

import dataclasses

from rich.console import Console

from tests.measurements.recorded_files import engine
from tests.measurements.test_sweep import rows
from tuner.measurements.runner import ContextsTiming
from tuner.measurements.sweep import sweet_spot
from tuner.report.performance_curve import (
    bars,
    sharing_view,
    sweep_csv,
    sweep_table,
    sweep_view,
    sweet_spot_sentence,
)

CURVE = rows([1.0, 1.0, 2.0])


def text_of(view: object) -> str:
    console = Console(width=120, record=True, file=None, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        console.print(view)
    return capture.get()


def test_table_marks_the_sweet_spot() -> None:
    text = text_of(sweep_table(CURVE, sweet_spot(CURVE)))
    assert "2 *" in text
    assert "2000" in text
    assert "50%" in text
    assert "1.00" in text  # MiB of tensors and a context


def test_curve_that_ignores_the_work_is_doubted() -> None:
    assert "caveat of the curve: flat_curve" in text_of(sweep_view(rows([1.0, 1.0, 1.0]), None))
    assert "flat_curve" not in text_of(sweep_view(CURVE, 1 << 20))


def test_bars_are_as_long_as_the_throughput() -> None:
    assert bars(CURVE) == [
        "1 " + "█" * 20 + " 1000/s",
        "2 " + "█" * 40 + " 2000/s",
        "4 " + "█" * 40 + " 2000/s",
    ]


def test_sentence_explains_the_sweet_spot() -> None:
    assert sweet_spot_sentence(CURVE[1]) == (
        "sweet spot (*): batch=2, 1.000 ms; from there doubling the work brings less than 10% more "
        "throughput and only adds latency"
    )
    assert "sweep further" in sweet_spot_sentence(None)


def test_csv_has_a_line_a_size() -> None:
    assert sweep_csv(CURVE).splitlines()[:2] == [
        "batch,p50_ms,p90_ms,p99_ms,graph_p50_ms,h2d_ms,d2h_ms,enqueue_ms,"
        "io_bytes,memory_bytes,utilisation,inferences_per_s,work_per_s",
        "1,1.0000,1.0000,1.0000,,,,,4,1048580,0.5000,1000,1000",
    ]


def test_growth_of_service_time_is_against_one_context() -> None:
    shared = [
        ContextsTiming(contexts=n, p50_ms=ms, p99_ms=ms, inferences_per_s=9.0)
        for n, ms in ((1, 2.0), (4, 5.0))
    ]
    assert "2.50 x" in text_of(sharing_view(shared, engine(4).engine))


def test_costs_of_both_changes_are_told() -> None:
    costly = dataclasses.replace(engine(4).engine, size_change_ms=0.25, profile_change_ms=0.5)
    text = text_of(sharing_view([], costly))
    assert "after a change of size the next inference takes 0.250 ms longer" in text
    assert "after a change of profile the next inference takes 0.500 ms longer" in text


def test_cost_of_a_change_that_an_engine_cannot_make_is_said_to_be_missing() -> None:
    assert "the engine has one profile" in text_of(sharing_view([], engine(4).engine))
