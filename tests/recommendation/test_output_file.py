"""Output files are replaced at once or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tuner.errors import TunerError
from tuner.recommendation.output_file import check_folder, check_writable, replace_file, replace_files


def test_a_new_file_has_the_permissions_of_the_users_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "p.json", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "p.json").stat().st_mode) == 0o640
    assert (tmp_path / "p.json").read_text() == "text"


def test_a_text_that_cannot_be_written_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("old")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        replace_file(tmp_path / "p.json", "\ud800")
    assert (tmp_path / "p.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_a_missing_folder_is_found_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="does not exist; create it first"):
        check_writable(tmp_path / "none" / "p.json")


def test_a_folder_in_place_of_the_file_is_found_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="it is a folder; name a file"):
        check_writable(tmp_path)


def test_files_of_a_folder_are_written_with_the_folders_they_need(tmp_path: Path) -> None:
    replace_files(tmp_path / "new", {"a/one": "1", "two": "2"})
    assert (tmp_path / "new" / "a" / "one").read_text() == "1"
    assert (tmp_path / "new" / "two").read_text() == "2"


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(TunerError, match=r"cannot write into .*: it is a file; name a folder"):
        check_folder(tmp_path / "a")
    with pytest.raises(TunerError, match="cannot create the folder"):
        replace_files(tmp_path, {"a/one": "1"})


def test_a_folder_may_be_there_or_be_made_where_its_parent_is(tmp_path: Path) -> None:
    check_folder(tmp_path)
    check_folder(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TunerError, match="does not exist; create it first"):
        check_folder(tmp_path / "none" / "new")
