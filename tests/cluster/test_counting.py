"""Counting on a cluster gives what counting here gives, however files are cut and tasks come back."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cluster.log_files import write_lines, write_parquet
from tests.cluster.same_traffic import facts
from tests.models import save
from tests.stand_ins.ray_here import RayHere
from tuner.cluster.counting import CountingCluster
from tuner.errors import TunerError
from tuner.logs import json_lines
from tuner.onnx_file import read_onnx
from tuner.settings import LogSettings
from tuner.traffic.reading import MapStep, read_traffic
from tuner.traffic.traffic import Traffic

START = 1_700_000_000


def on_cluster(seed: int = 0, unit_bytes: int = 1) -> MapStep:
    cluster = CountingCluster(RayHere(seed), unit_bytes)
    return MapStep(cluster.open_files, cluster.count_files)


def assert_same(logs: LogSettings, step: MapStep, model: Any = None) -> Traffic:
    here = read_traffic(logs, model)
    there = read_traffic(logs, model, map_step=step)
    assert facts(there) == facts(here)
    return there


rows = st.fixed_dictionaries(
    {
        "batch": st.sampled_from([1, 2, 4, 0, -1, None, 2.5, "8", "x"]),
        "seq": st.integers(1, 40),
    },
    optional={"time": st.sampled_from([START, START + 1, START + 3600, None, "not a time"])},
)
lines = st.one_of(rows, st.sampled_from(["", "  ", "{broken", "[1]", '{"batch": 1, "seq": 7}\r']))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 bytes: every file has many, and lines longer than one."""
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 64)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.lists(lines, min_size=1, max_size=25), min_size=1, max_size=3), seed=st.integers(0, 99)
)
def test_json_lines_count_the_same_in_spans(
    files: list[list[Any]], seed: int, small_blocks: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for number, content in enumerate(files):
        write_lines(folder / f"{number}.jsonl", [{"batch": 1, "seq": 3}, *content])
    logs = LogSettings(logs=(str(folder),), axes={"batch": "batch", "seq": "seq"}, max_rejected=1.0)
    assert_same(logs, on_cluster(seed, unit_bytes=100))


whole_rows = st.fixed_dictionaries(
    {"batch": st.sampled_from([1, 2, 0, -1, None]), "seq": st.integers(1, 40)},
    optional={"time": st.sampled_from([START, START + 7200, None])},
)


@settings(max_examples=25, deadline=None)
@given(
    files=st.lists(st.lists(whole_rows, min_size=1, max_size=30), min_size=1, max_size=3),
    group_rows=st.integers(1, 10),
    seed=st.integers(0, 99),
)
def test_parquet_counts_the_same_in_row_groups(
    files: list[list[Any]], group_rows: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    for number, content in enumerate(files):
        write_parquet(folder / f"{number}.parquet", [{"batch": 1, "seq": 3}, *content], group_rows)
    logs = LogSettings(logs=(str(folder),), axes={"batch": "batch", "seq": "seq"}, max_rejected=1.0)
    assert_same(logs, on_cluster(seed))


def test_first_bad_line_is_found_by_prefix_sums(small_blocks: None, tmp_path: Path) -> None:
    good = [{"batch": 1, "seq": 100 + n, "time": START + n} for n in range(50)]
    write_lines(tmp_path / "a.jsonl", [*good[:30], "", *good[30:], {"batch": 0, "seq": 1}, *good])
    logs = LogSettings(logs=(str(tmp_path / "a.jsonl"),), max_rejected=1.0)
    traffic = assert_same(logs, on_cluster(3, unit_bytes=256))
    assert traffic.rejections["not_positive"].first_place.endswith("a.jsonl:line 52")


def test_line_longer_than_a_span_is_counted_once(small_blocks: None, tmp_path: Path) -> None:
    content = [{"batch": 1, "seq": 2}, {"batch": 4, "seq": 8, "note": "x" * 1000}, {"batch": 2, "seq": 2}]
    logs = LogSettings(logs=(str(write_lines(tmp_path / "a.jsonl", content)),))
    assert assert_same(logs, on_cluster(1, unit_bytes=64)).row_count == 3


def test_file_without_a_last_line_end_counts_its_last_line(small_blocks: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"batch": 1, "seq": n} for n in range(1, 30)])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().rstrip(b"\n"))
    assert assert_same(LogSettings(logs=(str(path),)), on_cluster(1, unit_bytes=64)).row_count == 29


def test_cut_parquet_file_is_one_problem_among_others(tmp_path: Path) -> None:
    content = [{"batch": 1, "seq": n, "time": START + n} for n in range(1, 2000)]
    whole = write_parquet(tmp_path / "a.parquet", content, 100)
    damaged = bytearray(whole.read_bytes())
    damaged[len(damaged) // 3 : len(damaged) // 3 + 400] = b"\xff" * 400
    (tmp_path / "b.parquet").write_bytes(damaged)
    logs = LogSettings(logs=(str(tmp_path),), max_rejected=1.0)
    traffic = assert_same(logs, on_cluster(5))
    assert traffic.rejections["damaged"].count == 1
    assert traffic.row_count == 2000


def test_columns_in_folder_names_reach_the_spans(small_blocks: None, tmp_path: Path) -> None:
    for batch in (4, 8):
        folder = tmp_path / f"batch={batch}"
        folder.mkdir()
        write_lines(folder / "a.jsonl", [{"seq": n} for n in range(1, 40)])
    traffic = assert_same(LogSettings(logs=(str(tmp_path),)), on_cluster(2, unit_bytes=64))
    assert set(traffic.histogram.values("batch").tolist()) == {4, 8}


def test_sizes_that_the_model_cannot_run_are_found_on_workers(small_blocks: None, tmp_path: Path) -> None:
    model = read_onnx(save("formula", tmp_path / "formula.onnx"))
    content = [dict(zip(model.axes, (1 + n % 3, 2 + n), strict=True)) for n in range(40)]
    logs = LogSettings(logs=(str(write_lines(tmp_path / "a.jsonl", content)),), max_rejected=1.0)
    assert_same(logs, on_cluster(2, unit_bytes=128), model)


def test_lone_damaged_file_is_the_error_that_it_is_here(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + b"\x00" * 50)
    logs = LogSettings(logs=(str(tmp_path / "a.parquet"),))
    with pytest.raises(TunerError, match=r"a\.parquet: cannot be read"):
        read_traffic(logs, None, map_step=on_cluster())


def test_progress_ends_at_all_rows(small_blocks: None, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"batch": 1, "seq": n} for n in range(1, 30)])
    seen: list[tuple[int, int]] = []
    read_traffic(
        LogSettings(logs=(str(path),)), None, lambda *done: seen.append(done), on_cluster(4, unit_bytes=64)
    )
    assert seen[-1] == (path.stat().st_size, 29)


def test_what_is_counted_travels_small(tmp_path: Path) -> None:
    from tuner.cluster.counting_tasks import compacted
    from tuner.traffic.cells import Cells
    from tuner.traffic.counted import Counted
    from tuner.traffic.tally import Tally

    counted = Counted(Tally(("seq",)))
    many = np.arange(600_000) % 300_000
    counted.tally.add(Cells(many // 300, (many % 300)[None, :], np.ones(len(many), np.int64)))
    assert len(pickle.dumps(compacted(counted))) < 3 * 8 * 300_000 + 10_000
