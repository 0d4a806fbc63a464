"""JSON Lines: the fast reader and the careful one give the same answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.logs.log_files import lines, percentiles, read, rejected
from tuner.traffic.traffic import Traffic

SAME = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)

values = (
    st.none()
    | st.booleans()
    | st.integers(-2, 600)
    | st.sampled_from([2**31, 2**53 + 1, 2**64, 10**24, 64.5, 64.0, float("nan"), float("inf"), 1e300])
    | st.sampled_from(["128", " 128 ", "x", "", "NaN", "1e2", "0x10"])
    | st.lists(st.integers(1, 9), max_size=2)
)
objects = st.fixed_dictionaries(
    {"seq": values}, optional={"ts": st.sampled_from(["2024-05-01T00:00:00Z", 1714521600, None, "x"])}
)


def account(traffic: Traffic) -> tuple[Any, ...]:
    return (
        traffic.row_count,
        traffic.used_row_count,
        rejected(traffic),
        {r: x.first_place.rpartition(":")[2] for r, x in traffic.rejections.items()},
        traffic.histogram.sizes.tolist(),
        traffic.histogram.counts.tolist(),
        traffic.start,
        traffic.end,
    )


@SAME
@given(st.lists(objects, min_size=1, max_size=20))
def test_fast_and_careful_reading_agree(tmp_path: Path, rows: list[Any]) -> None:
    rows = [*rows, {"seq": 7, "ts": "2024-05-01T00:00:00Z"}]
    plain = lines(tmp_path / "a.jsonl", rows)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    fast = read(plain, axes={"seq": "seq"}, time="ts")
    careful = read(packed, axes={"seq": "seq"}, time="ts")

    assert account(fast) == account(careful)


@pytest.mark.parametrize(
    "broken",
    ["{", '{"seq": 1', "[1]", "5", '{"seq": 1} {"seq": 2}', "{'seq': 1}", '{"seq": 1}}', "\x00", "nonsense"],
)
def test_a_broken_line_is_one_damaged_row_and_the_rest_goes_on(tmp_path: Path, broken: str) -> None:
    traffic = read(lines(tmp_path / "a.jsonl", [{"seq": 1}, broken, {"seq": 3}]))

    assert traffic.histogram.values("seq").tolist() == [1, 3]
    assert rejected(traffic) == {"damaged": 1}
    assert traffic.rejections["damaged"].first_place.endswith("a.jsonl:line 2")


def test_a_torn_last_line_is_a_damaged_row(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text('{"seq": 1}\n{"seq": 2')

    assert rejected(read(log)) == {"damaged": 1}


def test_blank_lines_are_no_rows_and_line_numbers_stay_right(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text('\n{"seq": 1}\n\n\n{"seq": "x"}\n{')

    traffic = read(log)

    assert traffic.row_count == 3
    assert traffic.rejections["not_a_number"].first_place.endswith(":line 5")
    assert traffic.rejections["damaged"].first_place.endswith(":line 6")


def test_a_line_longer_than_any_block_is_read_and_never_shown(tmp_path: Path) -> None:
    prompt = "secret " * 3_000_000
    log = lines(
        tmp_path / "a.jsonl", [{"seq": 1}, {"seq": 2, "prompt": prompt}, {"seq": "x", "prompt": prompt}]
    )

    traffic = read(log)

    assert traffic.histogram.values("seq").tolist() == [1, 2]
    assert "secret" not in repr(traffic)


def test_a_long_first_line_is_understood_too(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"prompt": "x" * 3_000_000, "seq": 2}, {"seq": 1}])

    assert percentiles(read(log), "seq", 0, 100) == [1, 2]


def test_an_integer_beyond_64_bits_in_another_column_does_no_harm(tmp_path: Path) -> None:
    assert read(lines(tmp_path / "a.jsonl", [{"id": 10**400, "seq": 1}])).histogram.request_count == 1


def test_bytes_that_are_no_text_in_another_column_do_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_bytes(b'{"seq": 1, "prompt": "ok"}\n{"seq": 2, "prompt": "\xff\xfe"}\n')

    traffic = read(log)

    assert traffic.row_count == 2
    assert traffic.used_row_count + traffic.rejected_count == 2


def test_keys_that_differ_by_case_alone_are_two_columns(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 1, "SEQ": 9}])

    assert percentiles(read(log, axes={"seq": "seq"}), "seq", 50) == [1]


def test_a_name_with_signs_of_a_glob_is_read_as_it_stands(tmp_path: Path) -> None:
    lines(tmp_path / "a1.jsonl", [{"seq": 9}])
    log = lines(tmp_path / "a[1].jsonl", [{"seq": 1}])

    assert percentiles(read(log), "seq", 50) == [1]


def test_many_blocks_are_counted_whole_in_order(tmp_path: Path) -> None:
    row_count = 60_000
    log = tmp_path / "a.jsonl.gz"
    filler = "x" * 100
    text = "".join(json.dumps({"seq": i % 500 + 1, "filler": filler}) + "\n" for i in range(row_count))
    log.write_bytes(gzip.compress((text + '{"seq": "x"}\n').encode(), 1))

    traffic = read(log)

    assert traffic.histogram.request_count == row_count
    assert traffic.rejections["not_a_number"].first_place.endswith(f":line {row_count + 1}")


def test_a_line_far_behind_that_the_fast_reader_refuses_is_one_damaged_row(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    good = '{"seq": 7, "host": "' + 80 * "h" + '"}\n'
    log.write_text(400_000 * good + "{broken\n" + good)

    traffic = read(log)

    assert rejected(traffic) == {"damaged": 1}
    assert traffic.row_count == 400_002
    assert traffic.rejections["damaged"].first_place.endswith(":line 400001")


def test_a_blank_line_does_no_harm_where_no_number_of_a_row_matters(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    log.write_text('{"seq": 1, "ts": 1714521600}\n\n{"seq": 2, "ts": 1714521601}\n')

    assert read(log).row_count == 2


def test_rows_without_a_time_fall_on_the_side_that_their_line_says(tmp_path: Path) -> None:
    text = "".join(f'{{"seq": {n}}}\n' + (n % 3 == 0) * "\n" for n in range(1, 60))
    plain, packed = tmp_path / "a.jsonl", tmp_path / "packed" / "a.jsonl"
    packed.parent.mkdir()
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))

    fast, careful = read(plain), read(packed)

    assert fast.holdout is not None
    assert careful.holdout is not None
    assert fast.holdout.sizes.tolist() == careful.holdout.sizes.tolist()


@pytest.mark.parametrize("neighbour", ['{"seq": 9}', '{"seq": NaN}', '{"seq": "x"}', "broken"])
def test_bytes_that_are_no_text_spoil_no_size_beside_them(tmp_path: Path, neighbour: str) -> None:
    log = tmp_path / "a.jsonl.gz"
    lines_of_bytes = (b'{"seq": 64, "prompt": "caf\xe9 \xc0\xaf"}', neighbour.encode(), b'{"seq": 128}')
    log.write_bytes(gzip.compress(b"\n".join(lines_of_bytes)))

    sizes = read(log).histogram.sizes.ravel().tolist()

    assert [size for size in sizes if size != 9] == [64, 128]
