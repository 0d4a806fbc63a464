"""Files that change while they are read are told of; those that stay are not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tuner.logs.sources import find_sources
from tuner.logs.steady import changed_since, marks_of


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"batch": 2}\n')


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text('{"batch": 3}\n' * 50)
    os.replace(other, path)


def cut(path: Path) -> None:
    os.truncate(path, 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (append, "grew while"),
        (replace, "replaced or cut"),
        (cut, "replaced or cut"),
        (Path.unlink, "replaced or cut"),
    ],
)
def test_a_change_is_told(tmp_path: Path, change: Callable[[Path], None], said: str) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"batch": 1}\n' * 10)
    before = marks_of(find_sources([str(log)]).sources)
    change(log)
    told = changed_since(before)
    assert len(told) == 1
    assert said in told[0]


def test_a_file_that_stays_is_not_told_of(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"batch": 1}\n')
    assert changed_since(marks_of(find_sources([str(log)]).sources)) == []
