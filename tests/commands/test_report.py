"""`tuner report` and `recommend --report` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import ENCODER, Ran, Shell, assert_one_line
from tests.commands.test_recommend import histogram_csv


def recommended(shell: Shell, *more: str) -> Ran:
    return shell.tuner("recommend", "--logs", histogram_csv(shell), "--measurements", ENCODER, *more)


def by_rule(shell: Shell) -> Ran:
    """A document that takes no search, for tests of what is done with it."""
    return shell.tuner("recommend", "--logs", histogram_csv(shell), "--rule", "p90")


def text(shell: Shell, name: str = "report.html") -> str:
    return (shell.folder / name).read_text(encoding="utf-8")


def test_a_document_becomes_one_page_with_its_curves(shell: Shell) -> None:
    recommended(shell)
    ran = shell.tuner("report", "profile.json", "--out", "page.html")
    assert ran.exit_code == 0
    assert "written: page.html" in ran.out
    assert text(shell, "page.html").startswith("<!DOCTYPE html>")
    assert "Latency of each profile" in text(shell, "page.html")


def test_recommend_writes_the_same_page_at_once(shell: Shell) -> None:
    assert recommended(shell, "--report", "both.html").exit_code == 0
    shell.tuner("report", "profile.json")
    assert text(shell) == text(shell, "both.html")


def test_the_files_ending_or_the_format_makes_it_markdown(shell: Shell) -> None:
    by_rule(shell)
    shell.tuner("report", "profile.json", "--out", "note.md")
    shell.tuner("report", "profile.json", "--out", "note.txt", "--format", "md")
    assert text(shell, "note.md").startswith("# Optimization profiles")
    assert text(shell, "note.txt") == text(shell, "note.md")


def test_without_the_store_the_page_says_so_and_no_store_is_made(shell: Shell) -> None:
    recommended(shell)
    (shell.folder / "tuner.db").unlink()
    assert shell.tuner("report", "profile.json").exit_code == 0
    assert "no_curves" in text(shell)
    assert "tuner.db" not in shell.files


def test_the_key_out_of_the_settings_file_never_turns_the_document_into_a_page(shell: Shell) -> None:
    by_rule(shell)
    before = text(shell, "profile.json")
    (shell.folder / "tuner.toml").write_text('out = "profile.json"\n')
    assert shell.tuner("report", "profile.json").exit_code == 0
    assert text(shell, "profile.json") == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("", ("is no JSON",)),
        ("[]", ("no document of tuner",)),
        ("{}", ("no schema_version",)),
        ('{"schema_version": 99}', ("version 99",)),
        ('{"schema_version": 1, "decision": "perhaps"}', ("profile.json",)),
    ],
)
def test_what_is_no_document_is_one_line_and_no_page(
    shell: Shell, change: str, words: tuple[str, ...]
) -> None:
    (shell.folder / "profile.json").write_text(change)
    assert_one_line(shell.tuner("report", "profile.json"), *words)
    assert "report.html" not in shell.files


def test_min_above_max_is_named(shell: Shell) -> None:
    by_rule(shell)
    path = shell.folder / "profile.json"
    document = json.loads(path.read_text())
    document["profiles"][0]["min"]["seq"] = 4096
    path.write_text(json.dumps(document))
    assert_one_line(shell.tuner("report", "profile.json"), "profiles[0]", "seq")


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        (("--format", "pdf"), ("--format is 'pdf'", "html and md"), 2),
        (("--out", "none/page.html"), ("the folder", "does not exist"), 1),
        (("--store", "nonsense://x"), ("store", "cannot be used"), 1),
    ],
)
def test_a_wrong_value_is_one_line(
    shell: Shell, options: tuple[str, ...], words: tuple[str, ...], code: int
) -> None:
    by_rule(shell)
    assert_one_line(shell.tuner("report", "profile.json", *options), *words, exit_code=code)
    assert "report.html" not in shell.files


def test_a_page_in_a_missing_folder_is_found_before_the_search(shell: Shell) -> None:
    assert_one_line(recommended(shell, "--report", "none/page.html"), "does not exist")
    assert not {name for name in shell.files if name.endswith((".json", ".html"))}


def test_a_missing_document_is_one_line(shell: Shell, tmp_path: Path) -> None:
    assert_one_line(shell.tuner("report", tmp_path / "none.json"), "none.json")
