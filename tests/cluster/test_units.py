"""Files are cut into units that are worth a task and that end together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.log_files import write_lines, write_parquet
from tuner.cluster.merge_tree import MergeTree, Part
from tuner.cluster.units import LEAST_BYTES, MOST_BYTES, CutFile, WholeFiles, unit_bytes_for, units_of
from tuner.logs.clean import Rules
from tuner.logs.columns import FileColumns
from tuner.logs.opening import open_log
from tuner.logs.sources import find_sources
from tuner.traffic.ingest import Ingest
from tuner.traffic.runnable import Runnable


def ingest_of(folder: Path) -> Ingest:
    files = tuple((open_log(source), FileColumns(())) for source in find_sources([str(folder)]).sources)
    return Ingest(files, Rules(("seq",), {}), Runnable(None, ("seq",)), (None, None), splits_untimed=True)


def test_small_files_share_a_unit_and_a_large_one_is_cut(tmp_path: Path) -> None:
    rows = [{"seq": n, "batch": 1, "time": n} for n in range(1, 4000)]
    for name in ("a", "b", "d"):
        write_lines(tmp_path / f"{name}.jsonl", rows[:10])
    write_parquet(tmp_path / "c.parquet", rows, 100)
    first, cut, last = units_of(ingest_of(tmp_path), unit_bytes=2_000)
    assert isinstance(first, WholeFiles)
    assert [file.source.base_name for file, _ in first.files] == ["a.jsonl", "b.jsonl"]
    assert isinstance(last, WholeFiles)
    assert isinstance(cut, CutFile)
    ends = [0, *(end for _, end in cut.spans)]
    assert [start for start, _ in cut.spans] == ends[:-1]
    assert ends[-1] == 40


@pytest.mark.parametrize(("cpu_count", "expected"), [(1, LEAST_BYTES), (10_000, LEAST_BYTES)])
def test_little_to_read_makes_the_least_units(tmp_path: Path, cpu_count: int, expected: int) -> None:
    write_lines(tmp_path / "a.jsonl", [{"seq": 1}])
    assert unit_bytes_for(ingest_of(tmp_path), cpu_count) == expected < MOST_BYTES


@pytest.mark.parametrize("cpu_count", [1, 2, 3, 8])
def test_every_cpu_gets_as_many_units(tmp_path: Path, cpu_count: int) -> None:
    write_parquet(tmp_path / "a.parquet", [{"seq": n} for n in range(1, 500)], 1)
    ingest = ingest_of(tmp_path)
    ((file, columns),) = ingest.files
    large = replace(file, source=replace(file.source, byte_count=11 * LEAST_BYTES + 5))
    ingest = replace(ingest, files=((large, columns),))

    (cut,) = units_of(ingest, unit_bytes_for(ingest, cpu_count))

    assert isinstance(cut, CutFile)
    assert len(cut.spans) % cpu_count == 0
    assert len(cut.spans) >= 8


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 10, 27, 28, 100])
def test_tree_keeps_the_order_and_merges_few_at_a_time(count: int) -> None:
    merged: list[int] = []

    def merge(parts: Sequence[Part]) -> list[int]:
        merged.append(len(parts))
        return [number + moved for moved, part in parts for number in part]

    tree = MergeTree(merge, fan_in=3)
    for number in range(count):
        tree.add((1, [number - 1]))
    rest = tree.rest()
    assert [number + moved for moved, part in rest for number in part] == list(range(count))
    assert len(rest) <= 3
    assert all(2 <= size <= 2 * 3 for size in merged)
