"""Which files a value of `--logs` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import TunerError
from tuner.logs.sources import find_sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.parquet", "day=1/c.csv.gz", "part-00000", "_SUCCESS", "_temporary/0/d.parquet",
                 ".hidden.jsonl", ".part/x.jsonl", "notes.md"):  # fmt: skip
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    (tmp_path / "empty.jsonl").touch()
    return tmp_path


def names(*logs: str | Path) -> list[str]:
    return [source.base_name for source in find_sources(map(str, logs)).sources]


def test_a_folder_gives_its_finished_files_in_order(folder: Path) -> None:
    assert names(folder) == ["a.parquet", "b.jsonl", "c.csv.gz", "part-00000"]


def test_what_is_left_out_is_said_by_kind(folder: Path) -> None:
    notes = " ".join(find_sources([str(folder)]).notes)

    assert "left out 4 hidden or unfinished files" in notes
    assert "left out 1 empty files" in notes
    assert "no logs by their name (*.md)" in notes


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.jsonl", ["b.jsonl"]),
        ("*", ["a.parquet", "b.jsonl", "c.csv.gz", "part-00000"]),
        ("**/*.csv.gz", ["c.csv.gz"]),
        ("day=?/*", ["c.csv.gz"]),
        ("[ab].*", ["a.parquet", "b.jsonl"]),
    ],
)
def test_a_glob_gives_what_it_matches(folder: Path, pattern: str, expected: list[str]) -> None:
    assert names(f"{folder}/{pattern}") == expected


def test_a_relative_glob_starts_where_one_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    assert names("*.jsonl") == ["b.jsonl"]
    assert names(".") == ["a.parquet", "b.jsonl", "c.csv.gz", "part-00000"]


def test_a_file_that_is_named_twice_is_read_once_and_said(folder: Path) -> None:
    found = find_sources([str(folder / "b.jsonl"), str(folder / "*.jsonl")])

    assert len(found.sources) == 1
    assert "named more than once" in found.notes[-1]


def test_one_value_may_name_several_files(folder: Path) -> None:
    assert names(f"{folder}/b.jsonl,{folder}/a.parquet") == ["a.parquet", "b.jsonl"]


def test_a_file_url_is_a_file(folder: Path) -> None:
    assert names(f"file://{folder}/b.jsonl") == ["b.jsonl"]


def test_an_address_of_fsspec_is_read_too() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://logs/a.jsonl", "wb") as stream:
        stream.write(b'{"seq": 1}\n')

    assert names("memory://logs/a.jsonl") == ["a.jsonl"]


def test_folder_names_are_columns(folder: Path) -> None:
    source = find_sources([str(folder / "day=1")]).sources[0]

    assert source.partitions == {"day": "1"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("prod.parket", "no such file, folder or address; did you mean 'prod.parquet'"),
        ("*.orc", "no file matches"),
        ("nowhere://x", "logs nowhere://x: "),
    ],
)
def test_a_value_that_names_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prod.parquet").write_text("x")

    with pytest.raises(TunerError, match=message.replace("*", r"\*").replace("?", r"\?")):
        find_sources([value])
