"""CSV of any dress."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.log_files import csv, percentiles, read, rejected
from tuner.errors import TunerError


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    log = csv(
        tmp_path / "a.csv", delimiter.join(["batch", "seq"]) + "\n" + delimiter.join(["2", "128"]) + "\n"
    )

    assert read(log).histogram.sizes.tolist() == [[2, 128]]


def test_quoted_values_may_hold_delimiters_and_line_ends(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", 'prompt,seq\n"a, b\nc ""d""",128\nx,64\n')

    assert percentiles(read(log), "seq", 0, 100) == [64, 128]


def test_rows_with_too_few_or_too_many_values_are_damaged_and_others_keep_their_numbers(
    tmp_path: Path,
) -> None:
    log = csv(tmp_path / "a.csv", "batch,seq\n1,2\n3\n4,5\n6,7,8\n9,x\n")

    traffic = read(log)

    assert rejected(traffic) == {"not_a_number": 1, "damaged": 2}
    assert traffic.rejections["damaged"].first_place.endswith("a.csv:row 2")
    assert traffic.rejections["not_a_number"].first_place.endswith("a.csv:row 5")
    assert traffic.row_count == 5


def test_texts_that_are_no_utf_8_are_not_a_number_and_do_not_stop_the_file(tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    log.write_bytes(b"seq,prompt\n1,\xff\n\xfe,x\n3,y\n")

    traffic = read(log)

    assert traffic.histogram.values("seq").tolist() == [1, 3]
    assert rejected(traffic) == {"not_a_number": 1}


def test_empty_and_null_texts_are_missing(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", "seq,x\n1,\n,\nNULL,\n\\N,\n")

    assert rejected(read(log)) == {"missing": 3}


def test_a_column_that_comes_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="has two columns named 'seq'"):
        read(csv(tmp_path / "a.csv", "seq,seq\n1,2\n"))


def test_many_blocks_are_one_file(tmp_path: Path) -> None:
    text = "seq,filler\n" + "".join(f"{i % 100 + 1},{'x' * 90}\n" for i in range(120_000))

    traffic = read(csv(tmp_path / "a.csv", text + "y,\n"))

    assert traffic.histogram.request_count == 120_000
    assert traffic.rejections["not_a_number"].first_place.endswith(":row 120001")


def test_a_header_with_a_very_long_name_is_read(tmp_path: Path) -> None:
    log = csv(tmp_path / "a.csv", "seq," + "x" * 200_000 + "\n1,2\n")

    assert percentiles(read(log), "seq", 50) == [1]


ROWS = [f"{i + 1},note {i},2024-05-01T00:00:{i:02}Z" for i in range(60)]


@pytest.mark.parametrize(
    "changed",
    [
        {10: '11,"note 10,2024-05-01T00:00:10Z'},
        {10: '"11,note 10,2024-05-01T00:00:10Z'},
        {10: '11,note 10,"2024-05-01T00:00:10Z'},
        {59: '60,note 59,"2024-05-01T00:00:59Z'},
        {10: '11,"note 10,2024-05-01T00:00:10Z', 40: '41,"note 40,2024-05-01T00:00:40Z'},
        {10: '"11,note 10,2024-05-01T00:00:10Z', 40: '"41,note 40,2024-05-01T00:00:40Z'},
        {10: '"11,note 10,2024-05-01T00:00:10Z', 40: '41",note 40,2024-05-01T00:00:40Z'},
    ],
)
def test_a_quote_that_swallows_lines_damages_the_file(tmp_path: Path, changed: dict[int, str]) -> None:
    rows = [changed.get(i, row) for i, row in enumerate(ROWS)]
    log = csv(tmp_path / "a.csv", "seq,note,ts\n" + "\n".join(rows) + "\n")
    whole = csv(tmp_path / "whole.csv", "seq,note,ts\n1,a,2024-05-01\n")

    with pytest.raises(TunerError, match=r"a\.csv: has a (quote|value)"):
        read(log)
    assert rejected(read(log, whole)) == {"damaged": 1}


@pytest.mark.parametrize(
    "note", ['"two\nlines"', '"say ""x"""', '5" screen', '"a" b', '""', '"' + "x" * 300_000 + '"']
)
def test_a_quote_that_keeps_to_its_value_is_read(tmp_path: Path, note: str) -> None:
    log = csv(tmp_path / "a.csv", f'"seq","note"\n"1",{note}\n2,plain\n')

    assert read(log).histogram.sizes.ravel().tolist() == [1, 2]


def test_an_error_shows_the_start_of_long_names(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"columns: x{60}\.\.\., y;"):
        read(csv(tmp_path / "a.csv", "x" * 5_000 + ",y\n1,2\n"))
