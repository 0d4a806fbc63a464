"""The fast readers of JSON Lines: what each reads, what it refuses, and that none answers otherwise."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.logs.log_files import lines, read
from tests.logs.test_json_lines import account, values
from tuner.logs.fast_lines import number_pieces, text_pieces
from tuner.logs.layout import layout_of_objects
from tuner.logs.log_file import Piece, Refused, Wanted
from tuner.logs.sources import find_sources

SAMPLED_LINES = 1000
"""So many lines decide what a column holds; what comes behind them is a surprise."""
PLAIN = [{"seq": 7, "ts": "2024-05-01T00:00:00Z"}] * SAMPLED_LINES

Reader = Callable[..., Iterator[Piece]]


def columns(reader: Reader, log: Path, *names: str, sizes: tuple[str, ...] = ("seq",)) -> list[pa.Array]:
    (source,) = find_sources([str(log)]).sources
    layout = layout_of_objects([json.loads(log.read_bytes().splitlines()[0])])
    pieces = reader(source, layout, 20.0, Wanted(names, sizes=sizes))
    blocks = [block for piece in pieces for block in piece()]
    return [pa.concat_arrays([block.columns[name] for block in blocks]) for name in names]


def test_sizes_come_as_numbers_and_everything_else_as_text(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 7, "n": 3, "ts": "x"}, {"n": 2**60 + 1}])

    seq, n, ts = columns(number_pieces, log, "seq", "n", "ts")

    assert seq.to_pylist() == [7.0, None]
    assert n.to_pylist() == ["3", str(2**60 + 1)]
    assert ts.to_pylist() == ["x", None]


def test_sizes_inside_objects_come_as_numbers_too(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"request": {"seq": 7, "host": "h"}}])

    seq, host = columns(number_pieces, log, "request.seq", "request.host", sizes=("request.seq",))

    assert (seq.to_pylist(), host.to_pylist()) == ([7.0], ["h"])


@pytest.mark.parametrize("odd", ["true", "false", "0", "-1", '"nan"', '"inf"', '"x"', "[1]", "1e400", "{"])
def test_what_a_double_cannot_tell_is_refused_as_a_number(tmp_path: Path, odd: str) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 7}, f'{{"seq": {odd}}}'])

    with pytest.raises(Refused, match=r"seq|jsonl"):
        columns(number_pieces, log, "seq")


@pytest.mark.parametrize(
    "lengths", [(0,), ((1 << 20) - 20,), *(((1 << 20) - n,) for n in range(8, 30)), (3 << 20, 5)]
)
def test_the_word_true_is_found_wherever_a_chunk_ends(tmp_path: Path, lengths: tuple[int, ...]) -> None:
    rows = [{"seq": 7, "pad": "x" * length} for length in lengths]
    log = lines(tmp_path / "a.jsonl", [*rows, {"seq": True}])

    with pytest.raises(Refused, match="jsonl"):
        columns(number_pieces, log, "seq")


def test_a_word_that_only_looks_like_true_at_first_is_no_reason_to_refuse(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 7, "host": "truck run"}])

    assert columns(number_pieces, log, "seq")[0].to_pylist() == [7.0]


def test_a_column_that_is_no_size_is_not_read_as_a_number(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 7}])

    with pytest.raises(Refused, match=r"a\.jsonl"):
        columns(number_pieces, log, "seq", sizes=())
    assert columns(text_pieces, log, "seq")[0].to_pylist() == ["7"]


def test_texts_are_read_as_they_stand(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", ['{"seq": 7}', '{"seq": true}', '{"seq": 1.50}', '{"seq": "0x10"}'])

    assert columns(text_pieces, log, "seq")[0].to_pylist() == ["7", "true", "1.5", "0x10"]


numbers = (
    st.integers(1, 600)
    | st.floats(allow_nan=False)
    | st.decimals(0, 600, places=18).map(str)
    | st.sampled_from(["1", "7.0", "2.00000000000000001", "1e2", "+8", "8.", ".8", " 8", "1_0", "1,0", "8f"])
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(values | numbers, min_size=1, max_size=6), st.booleans())
def test_every_reader_gives_the_same_answer(tmp_path: Path, odd: list[Any], is_scaled: bool) -> None:
    rows = [*PLAIN, *({"seq": value, "ts": "2024-05-01T00:00:00Z"} for value in odd)]
    plain = lines(tmp_path / "a.jsonl", rows)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    axes = {"seq": "seq/2" if is_scaled else "seq"}

    assert account(read(plain, axes=axes, time="ts")) == account(read(packed, axes=axes, time="ts"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 2**40), min_size=1, max_size=9), st.lists(st.floats(0.5, 600), max_size=3))
def test_sizes_and_their_reasons_do_not_depend_on_the_reader(
    tmp_path: Path, whole: list[int], broken: list[float]
) -> None:
    rows = [{"seq": value} for value in [7, *whole, *broken]]
    log = lines(tmp_path / "a.jsonl", rows)

    (as_numbers,) = columns(number_pieces, log, "seq")
    (as_texts,) = columns(text_pieces, log, "seq")

    assert np.array_equal(as_numbers.to_numpy(), [float(text) for text in as_texts.to_pylist()])
