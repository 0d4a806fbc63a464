"""Which column is which: by mapping, by exact name, by well-known names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.log_files import lines, parquet, percentiles, read, rejected
from tuner.errors import TunerError
from tuner.formula import axis_dimension, parse_formula
from tuner.model import Model, TensorSpec

BATCH, SEQ = axis_dimension("batch"), axis_dimension("seq")
IDS, MASK = (TensorSpec(name, "int64", (BATCH, SEQ)) for name in ("input_ids", "attention_mask"))
ENCODER = Model("encoder", (IDS, MASK))


def test_exact_names_come_before_known_ones(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1], "seq": [7], "tokens": [9]})

    traffic = read(log, model=ENCODER)

    assert percentiles(traffic, "seq", 50) == [7]
    assert "seq is column 'seq' (its own name)" in traffic.notes


@pytest.mark.parametrize("name", ["seq_len", "SeqLen", "sequence-length", "input_tokens", "ContextTokens"])
def test_a_known_name_is_found_and_shown(tmp_path: Path, name: str) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"batch_size": [1], name: [7]}), model=ENCODER)

    assert percentiles(traffic, "seq", 50) == [7]
    assert f"seq is column '{name}' (a known name for it)" in traffic.notes


def test_two_equally_good_columns_are_an_error_that_names_both(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1], "tokens": [7], "seq_len": [9]})

    with pytest.raises(
        TunerError, match=r"'tokens' and 'seq_len' are equally good; say which with --axis seq=COLUMN"
    ):
        read(log, model=ENCODER)


def test_a_missing_column_lists_those_there_are_the_nearest_and_the_option(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1], "prompt": ["x"], "sq": [1]})

    with pytest.raises(
        TunerError,
        match=r"axis 'seq': no column 'seq' in the logs; did you mean 'sq'\?; columns: batch, prompt, sq; "
        r"map it with --axis seq=COLUMN",
    ):
        read(log, model=ENCODER)


def test_an_axis_that_the_model_lacks_is_an_error(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1], "seq": [1]})

    with pytest.raises(
        TunerError, match=r"--axis sec=.*the model has the axes batch, seq; did you mean 'seq'"
    ):
        read(log, model=ENCODER, axes={"sec": "seq"})


def test_a_mapping_reaches_into_nested_json(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"request": {"shape": {"tokens": 7}}, "n": 2}])

    traffic = read(log, axes={"seq": "request.shape.tokens", "batch": "n"})

    assert percentiles(traffic, "seq", 50) == [7]


def test_struct_columns_are_reached_by_the_same_path(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"request": [{"tokens": 7}, None], "n": [2, 2]})

    traffic = read(log, axes={"seq": "request.tokens", "batch": "n"})

    assert percentiles(traffic, "seq", 50) == [7]
    assert rejected(traffic) == {"missing": 1}


def test_a_key_with_a_dot_in_its_name_is_a_column_too(tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"request.tokens": 7}])

    assert percentiles(read(log, axes={"seq": "request.tokens"}), "seq", 50) == [7]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("4", 999, 4),
        ("bytes/4", 10, 3),
        ("bytes/4", 8, 2),
        ("bytes*2", 8, 16),
        ("bytes/0.5", 8, 16),
        ("bytes / 4", 9, 3),
    ],
)
def test_fixed_and_scaled_values_are_rounded_up(tmp_path: Path, text: str, value: int, expected: int) -> None:
    log = parquet(tmp_path / "a.parquet", {"bytes": [value]})

    assert percentiles(read(log, axes={"seq": text}), "seq", 50) == [expected]


def test_a_column_named_like_a_scale_goes_first(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"bytes/4": [5], "bytes": [400]})

    assert percentiles(read(log, axes={"seq": "bytes/4"}), "seq", 50) == [5]


def test_a_scale_of_zero_is_an_error(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"bytes": [1]})

    with pytest.raises(TunerError, match="a scale of 0 makes no size"):
        read(log, axes={"seq": "bytes/0"})


def test_shapes_of_the_inputs_tell_the_axes(tmp_path: Path) -> None:
    rows = [{"shapes": {"input_ids": [8, 128], "attention_mask": [8, 128]}},
            {"shapes": {"input_ids": [4, 64], "attention_mask": [4, 65]}}]  # fmt: skip

    traffic = read(lines(tmp_path / "a.jsonl", rows), model=ENCODER)

    assert traffic.histogram.sizes.tolist() == [[8, 128]]
    assert rejected(traffic) == {"inputs_disagree": 1}
    assert traffic.rejections["inputs_disagree"].first_place.endswith("a.jsonl:line 2")


@pytest.mark.parametrize("shape", [[8, 128], "8x128", "[8, 128]", "(8,128)", "8\u00d7128"])
def test_a_shape_may_be_a_list_or_a_text(tmp_path: Path, shape: object) -> None:
    traffic = read(lines(tmp_path / "a.jsonl", [{"s": shape}]), model=ENCODER, shapes={"input_ids": "s"})

    assert traffic.histogram.sizes.tolist() == [[8, 128]]


def test_a_formula_that_does_not_match_makes_inputs_disagree(tmp_path: Path) -> None:
    past = axis_dimension("past")
    total = TensorSpec("mask", "int64", (BATCH, parse_formula("past + seq")))
    model = Model(
        "decoder", (TensorSpec("ids", "int64", (BATCH, SEQ)), TensorSpec("kv", "f", (BATCH, past)), total)
    )
    rows = [{"shapes": {"ids": [1, 4], "kv": [1, 6], "mask": [1, m]}} for m in (10, 11)]

    assert rejected(read(lines(tmp_path / "a.jsonl", rows), model=model)) == {"inputs_disagree": 1}


def test_a_fixed_dimension_that_differs_cannot_run(tmp_path: Path) -> None:
    model = Model(
        "vision", (TensorSpec("x", "float32", (BATCH, 3, axis_dimension("h"), axis_dimension("w"))),)
    )
    rows = [{"shape": s} for s in ([1, 3, 8, 8], [1, 4, 8, 8], [3, 8, 8], [1, 3, 8, None], [], None)]

    traffic = read(lines(tmp_path / "a.jsonl", rows), model=model)

    assert rejected(traffic) == {"missing": 3, "model_cannot_run": 2}


def test_a_size_that_no_formula_has_a_shape_for_cannot_run_and_is_named(tmp_path: Path) -> None:
    model = Model("m", (TensorSpec("x", "f", (SEQ,)), TensorSpec("rest", "f", (parse_formula("512 - seq"),))))
    log = lines(tmp_path / "a.jsonl", [{"seq": 100}, {"seq": 600}])

    traffic = read(log, model=model)

    assert rejected(traffic) == {"model_cannot_run": 1}
    assert traffic.rejections["model_cannot_run"].first_place.endswith("a.jsonl:line 2 (seq=600)")


def test_alignment_rounds_up_and_counts_the_padded_requests(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [8, 9, 12]})

    traffic = read(log, align={"seq": 4})

    assert traffic.histogram.values("seq").tolist() == [8, 12]
    assert "1 rows are padded to a multiple of 4 in seq" in traffic.notes


def test_without_a_model_shapes_make_axes_by_place(tmp_path: Path) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"shape": [[8, 128], [4, 64], [3]]}))

    assert traffic.axes == ("shape[0]", "shape[1]")
    assert rejected(traffic) == {"inputs_disagree": 1}


def test_a_batch_log_weighs_a_row_by_its_batch(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"batch": [1, 63], "seq": [8, 8]})

    traffic = read(log, log_kind="batches")

    assert traffic.requests_axis == "batch"
    assert traffic.requests(traffic.histogram).sum() == 64


def test_a_batch_log_needs_a_batch(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [8]})

    with pytest.raises(TunerError, match="kind batches needs an axis that is the batch"):
        read(log, log_kind="batches")


def test_zero_is_a_size_where_the_model_allows_it(tmp_path: Path) -> None:
    from tuner.model import OutputSpec

    log = parquet(tmp_path / "a.parquet", {"batch": [1, 0], "seq": [0, 5]})
    model = Model("m", ENCODER.inputs, (OutputSpec("y", "float32", ("batch", 8)),))

    traffic = read(log, model=model)

    assert traffic.histogram.sizes.tolist() == [[1, 0]]
    assert rejected(traffic) == {"not_positive": 1}


def test_rows_forced_to_be_requests_do_not_count_twice(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [8], "count": [100]})

    assert read(log).histogram.request_count == 100
    assert read(log, log_kind="requests").histogram.request_count == 1


def test_a_histogram_without_counts_says_what_it_lacks(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [8]})

    with pytest.raises(
        TunerError, match="kind histogram needs a column of counts; columns: seq; pass --count COLUMN"
    ):
        read(log, log_kind="histogram")


@pytest.mark.parametrize("option", ["count", "time"])
def test_a_named_column_that_is_missing_is_an_error(tmp_path: Path, option: str) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [8], "counts": [1]})

    with pytest.raises(TunerError, match=f"--{option} cuonts: no such column; did you mean 'counts'"):
        read(log, **{option: "cuonts"})


def test_columns_that_are_no_axis_ask_for_a_mapping(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"value": [8]})

    with pytest.raises(TunerError, match="no column is a known axis; columns: value; map them"):
        read(log)
