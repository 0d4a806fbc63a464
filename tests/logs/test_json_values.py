"""JSON that is no JSON Lines: arrays, and values one after another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.logs.log_files import percentiles, read, rejected
from tuner.errors import TunerError

ROWS = [{"seq": i + 1, "note": "x" * 50} for i in range(50)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", ["array", "values", "joined"])
def test_every_form_of_the_same_rows_is_the_same_traffic(
    tmp_path: Path, form: str, indent: int | None
) -> None:
    log = tmp_path / "a.json"
    texts = [json.dumps(row, indent=indent) for row in ROWS]
    log.write_text(
        {"array": json.dumps(ROWS, indent=indent), "values": "\n".join(texts), "joined": " ".join(texts)}[
            form
        ]
    )

    assert percentiles(read(log), "seq", 0, 50, 100) == [1, 25, 50]


@pytest.mark.parametrize("text", ["[]", "[ ]\n"])
def test_an_empty_array_holds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(TunerError, match="no usable rows"):
        read(tmp_path / "a.json")


@pytest.mark.parametrize("end", [-1, -5, 40])
def test_a_cut_array_gives_no_rows(tmp_path: Path, end: int) -> None:
    log = tmp_path / "a.json"
    log.write_text(json.dumps(ROWS)[:end])

    with pytest.raises(TunerError, match=r"a\.json: ends inside"):
        read(log)


def test_an_element_that_is_no_object_is_a_damaged_row(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"seq": 1}, 5, null, {"seq": 2}]')

    assert rejected(read(tmp_path / "a.json")) == {"damaged": 2}


def test_a_value_larger_than_the_window_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "a.json"
    log.write_text(json.dumps([{"prompt": "x" * 5_000_000, "seq": 1}, {"seq": 2}], indent=1))

    assert percentiles(read(log), "seq", 0, 100) == [1, 2]


def test_a_byte_order_mark_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf[{"seq": 1}]')

    assert percentiles(read(tmp_path / "a.json"), "seq", 100) == [1]


def test_a_nest_too_deep_to_decode_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 100_000)

    with pytest.raises(TunerError, match=r"a\.json"):
        read(tmp_path / "a.json")
