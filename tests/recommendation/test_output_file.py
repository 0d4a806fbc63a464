"""Output files are replaced at once or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tuner.errors import TunerError
from tuner.recommendation.output_file import check_writable, replace_file


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
