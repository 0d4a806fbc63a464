"""The cases of group B and the size cases of group A: each as a test of its whole kind, with data made here.

Where the handed files lie beside the checkout, they are read too and compared with their manifest.
"""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.logs.log_files import csv, lines, parquet, percentiles, read, rejected
from tuner.errors import TunerError
from tuner.onnx_file import read_onnx

CASES = Path(__file__).parents[3] / "shared" / "cases"
HANDED = pytest.mark.skipif(not CASES.is_dir(), reason="the handed cases are not beside this checkout")


def expected(case: str) -> Any:
    return json.loads((CASES / "manifest.json").read_text())[case]["expect"]


@pytest.mark.parametrize("length", [2_200_000, 5_000_000, 20_000_000])
def test_c29_a_row_of_any_length_is_a_row(tmp_path: Path, length: int) -> None:
    log = lines(
        tmp_path / "a.jsonl", [{"seq_len": 10}, {"seq_len": 20, "prompt": "a" * length}, {"seq_len": 30}]
    )

    traffic = read(log)

    assert percentiles(traffic, "seq", 0, 50, 100) == [10, 20, 30]
    assert "aaaa" not in repr(traffic)


def test_c31_integers_beyond_any_tensor_are_too_large_and_others_do_no_harm(tmp_path: Path) -> None:
    rows = [
        {"seq_len": 128, "id": 10**24},
        {"seq_len": 2**53 + 1},
        {"seq_len": 2**64 - 1},
        {"seq_len": 256, "id": "x"},
    ]

    traffic = read(lines(tmp_path / "a.jsonl", rows))

    assert rejected(traffic) == {"too_large": 2}
    assert percentiles(traffic, "seq", 0, 100) == [128, 256]


def test_c32_nan_and_infinity_are_not_finite(tmp_path: Path) -> None:
    rows = ['{"seq_len": 64}', '{"seq_len": NaN}', '{"seq_len": Infinity}', '{"seq_len": -Infinity}',
            '{"seq_len": null}', '{"batch": 2}', '{"seq_len": 128, "latency_ms": NaN}']  # fmt: skip

    traffic = read(lines(tmp_path / "a.jsonl", rows))

    assert rejected(traffic) == {"missing": 2, "not_finite": 3}
    assert traffic.histogram.request_count == 2


ROWS = b'{"seq_len": 10}\n{"seq_len": 20}\n{"seq_len": 30}\n'


def packed(kind: str) -> bytes:
    """The rows cut inside the second one, each part a member or frame of its own."""
    parts = (ROWS[:22], ROWS[22:])
    if kind == "zstd":
        return b"".join(pa.compress(part, codec="zstd", asbytes=True) for part in parts)
    return b"".join({"gzip": gzip.compress, "bz2": bz2.compress}[kind](part) for part in parts)


@pytest.mark.parametrize("kind", ["gzip", "zstd", "bz2"])
def test_c34_members_and_frames_are_one_stream(tmp_path: Path, kind: str) -> None:
    log = tmp_path / "a.jsonl.gz"
    log.write_bytes(packed(kind))

    assert percentiles(read(log), "seq", 0, 50, 100) == [10, 20, 30]


@pytest.mark.parametrize("kind", ["gzip", "zstd", "bz2"])
def test_c34_a_cut_file_is_an_error_with_its_name(tmp_path: Path, kind: str) -> None:
    log = tmp_path / "cut.jsonl"
    data = packed(kind)
    for end in (len(data) - 1, len(data) - 8, len(data) * 2 // 3):
        log.write_bytes(data[:end])
        with pytest.raises(TunerError, match=r"cut\.jsonl"):
            read(log)


def test_c34_a_plain_file_with_a_packed_name_is_read_by_its_content(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl.gz"
    log.write_bytes(ROWS)

    assert read(log).histogram.request_count == 3


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_c35_marks_and_line_ends_are_no_part_of_a_name(tmp_path: Path, line_end: str, mark: bytes) -> None:
    text = line_end.join(['"batch_size","seq_len"', "1,128", "2,256", "4,64", ""])
    (tmp_path / "a.csv").write_bytes(mark + text.encode())
    rows = [{"batch_size": b, "seq_len": s} for b, s in ((1, 128), (2, 256), (4, 64))]
    (tmp_path / "a.jsonl").write_bytes(mark + "".join(json.dumps(r) + line_end for r in rows).encode())

    for name in ("a.csv", "a.jsonl"):
        traffic = read(tmp_path / name, axes={"batch": "batch_size", "seq": "seq_len"})
        assert percentiles(traffic, "seq", 0, 50, 100) == [64, 128, 256]
        assert percentiles(traffic, "batch", 0, 100) == [1, 4]


SHAPES = [[1, 3, 224, 224], None, [2, 3, 256, 320], [], [3, 224, 224], [1, 3, None, 224]]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_(pa.float64())], ids=str
)
def test_c37_shapes_with_holes_are_counted_by_their_reason(tmp_path: Path, kind: pa.DataType) -> None:
    traffic = read(parquet(tmp_path / "a.parquet", {"shape": pa.array(SHAPES, kind)}), shapes={"x": "shape"})

    assert (traffic.row_count, traffic.histogram.request_count) == (6, 2)
    assert rejected(traffic) == {"missing": 3, "inputs_disagree": 1}
    assert list(traffic.histogram.largest.values) == [2, 3, 256, 320]


def test_c37_fixed_size_lists_keep_other_columns_aligned(tmp_path: Path) -> None:
    shapes = pa.array([[1, 8], None, [2, 9]], pa.list_(pa.int32(), 2))

    traffic = read(
        parquet(tmp_path / "a.parquet", {"shape": shapes, "count": [5, 6, 7]}), log_kind="histogram"
    )

    assert traffic.histogram.to_frame().to_numpy().tolist() == [[1, 8, 5], [2, 9, 7]]


def test_c38_whole_floats_count_and_others_have_their_reason(tmp_path: Path) -> None:
    values = [128.0, float("nan"), 256.0, 64.5, -1.0, 0.0, 512.0, None]

    traffic = read(parquet(tmp_path / "a.parquet", {"seq_len": values}))

    assert rejected(traffic) == {"missing": 1, "not_finite": 1, "not_whole": 1, "not_positive": 2}
    assert percentiles(traffic, "seq", 0, 50, 100) == [128, 256, 512]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_c40_the_order_of_files_that_disagree_does_not_matter(tmp_path: Path, order: tuple[int, ...]) -> None:
    columns = [pa.nulls(2), pa.array([16, 32], pa.int32()), pa.array(["256", "512"]), pa.array([1024.0])]
    for place, i in enumerate(order):
        parquet(tmp_path / f"part-{place}.parquet", {"seq_len": columns[i]})

    traffic = read(tmp_path)

    assert traffic.histogram.values("seq").tolist() == [16, 32, 256, 512, 1024]
    assert rejected(traffic) == {"missing": 2}


def test_c41_a_dimension_in_the_folder_name_is_a_number(tmp_path: Path) -> None:
    parquet(tmp_path / "batch=4" / "hour=07" / "a.parquet", {"seq_len": [16, 32]})
    parquet(
        tmp_path / "batch=8" / "hour=08" / "b.parquet",
        {"seq_len": [64, 128], "hour": pa.array([8, 8], pa.uint8())},
    )

    traffic = read(tmp_path)

    assert traffic.histogram.sizes.tolist() == [[4, 16], [4, 32], [8, 64], [8, 128]]


def test_c43_nothing_inside_is_an_error_alone_and_a_note_beside_a_good_file(tmp_path: Path) -> None:
    parquet(tmp_path / "none.parquet", {"seq_len": pa.array([], pa.int64())})
    csv(tmp_path / "header.csv", "seq_len\n")
    (tmp_path / "empty.jsonl").touch()
    for name in ("none.parquet", "header.csv", "empty.jsonl"):
        with pytest.raises(TunerError, match="no usable rows"):
            read(tmp_path / name)
    good = lines(tmp_path / "good.jsonl", [{"seq_len": 32}])

    traffic = read(good, *(tmp_path / name for name in ("none.parquet", "header.csv", "empty.jsonl")))

    assert traffic.row_count == 1
    assert any("files that hold nothing: 1" in note for note in traffic.notes)


def test_c44_times_of_every_dress_order_the_requests(tmp_path: Path) -> None:
    times = {
        "a": pa.timestamp("ns", "UTC"),
        "b": pa.timestamp("us"),
        "c": pa.timestamp("ms", "Europe/Berlin"),
    }
    for place, (name, kind) in enumerate(times.items()):
        moment = pa.array([1_714_521_600_000 + 250 * place], pa.int64()).cast(pa.timestamp("ms", "UTC"))
        column = moment.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.int64()).cast(kind)
        parquet(tmp_path / f"{name}.parquet", {"ts": column, "seq_len": [16 << place]})

    traffic = read(tmp_path)

    assert traffic.start is not None
    assert traffic.end is not None
    assert (traffic.end - traffic.start).total_seconds() == 0.5
    assert traffic.buckets is not None
    order = traffic.buckets.starts_us.argsort()
    assert traffic.histogram.values("seq")[traffic.buckets.size_rows[order]].tolist() == [16, 32, 64]
    assert "some times have no zone and are taken as UTC" in traffic.notes


def test_c47_counts_are_weights_and_bad_ones_are_rejected(tmp_path: Path) -> None:
    pairs = [(10, 1), (20, 50), (1000, 1), (20, 48), (5, 0), (7, -3), (30, 0.5)]

    traffic = read(lines(tmp_path / "a.jsonl", [{"seq_len": s, "count": c} for s, c in pairs]))

    assert traffic.histogram.request_count == 100
    assert percentiles(traffic, "seq", 0, 50, 99, 100) == [10, 20, 20, 1000]
    assert rejected(traffic) == {"not_whole": 1, "not_positive": 1}
    assert traffic.skipped == {"with a count of zero": 1}


@HANDED
@pytest.mark.parametrize(
    "name",
    [
        *("C29.jsonl", "C31.jsonl", "C31.parquet", "C32.jsonl", "C35.csv", "C35.jsonl", "C38.parquet"),
        *("C40", "C41", "C43_middle.parquet", "C47.jsonl"),
    ],
)
def test_the_handed_logs_give_the_numbers_of_their_manifest(name: str) -> None:
    case, _, form = name.partition(".")
    wanted = expected(case[:3])
    wanted = wanted.get(form, wanted.get(name, wanted))

    traffic = read(CASES / name)

    assert traffic.row_count == wanted["rows"]
    if "accepted" in wanted:
        assert traffic.histogram.request_count == wanted["accepted"]
        assert rejected(traffic) == wanted["rejected"]
    for column, numbers in wanted.items():
        axis = {"seq_len": "seq", "batch_size": "batch", "batch": "batch"}.get(column)
        for percent, key in ((0, "min"), (50, "p50"), (99, "p99"), (100, "max"), (100, "p100")):
            if axis and key in numbers:
                assert percentiles(traffic, axis, percent) == [numbers[key]], (column, key)


@HANDED
def test_the_handed_packed_logs_are_whole_or_an_error() -> None:
    for name in ("C34_members.jsonl.gz", "C34_frames.jsonl.zst", "C34_plain.jsonl.gz"):
        assert percentiles(read(CASES / name), "seq", 50) == [20]
    with pytest.raises(TunerError, match=r"C34_cut\.jsonl\.gz"):
        read(CASES / "C34_cut.jsonl.gz")


@HANDED
def test_the_handed_times_are_nine_of_eleven() -> None:
    traffic = read(CASES / "C44.jsonl")

    assert traffic.buckets is not None
    assert traffic.buckets.counts.sum() == expected("C44")["jsonl"]["usable_time"]
    assert traffic.histogram.request_count == expected("C44")["jsonl"]["sizes_accepted"]
    assert traffic.start is not None
    assert traffic.end is not None
    assert (traffic.end - traffic.start).total_seconds() <= 0.5


@HANDED
def test_the_handed_buckets_are_cumulative_with_a_cap_and_plain_without_le() -> None:
    wanted = expected("C46")
    with pytest.raises(TunerError, match="10 of 1000 requests lie above the last bound 1024"):
        read(CASES / "C46_cumulative.csv")
    cumulative = read(CASES / "C46_cumulative.csv", axes={"seq": "le"}, cap={"seq": 2048})
    plain = read(CASES / "C46_plain.csv")

    keys = ("requests", "p50", "p90", "p95", "p99")
    found = [cumulative.histogram.request_count, *percentiles(cumulative, "seq", 50, 90, 95, 99)]
    assert found == [wanted["cumulative"][key] for key in keys]
    assert [plain.histogram.request_count, *percentiles(plain, "seq", 50, 99, 100)] == [990, 64, 1024, 1024]


@HANDED
@pytest.mark.parametrize(
    ("case", "requests", "rejections"),
    [
        ("C01", 3, {}), ("C02", 3, {}), ("C04", 3, {}), ("C05", 1, {"model_cannot_run": 2}), ("C07", 3, {}),
        ("C08", 3, {}), ("C10", 3, {}), ("C11", 3, {}), ("C13", 2, {"model_cannot_run": 1}), ("C14", 100, {}),
        ("C16", 5, {}), ("C17", 100, {}), ("C22", 3, {}), ("C23", 3, {}), ("C25", 3, {}), ("C26", 3, {}),
        ("C28", 3, {}), ("C55", 5, {}),
    ],
)  # fmt: skip
def test_the_handed_size_cases_are_read_with_their_models(
    case: str, requests: int, rejections: dict[str, int]
) -> None:
    traffic = read(CASES / f"{case}.jsonl", model=read_onnx(CASES / f"{case}.onnx"))

    assert traffic.histogram.request_count == requests
    assert rejected(traffic) == rejections


@HANDED
def test_c13_a_size_that_is_no_multiple_is_named_and_padding_mends_it() -> None:
    model = read_onnx(CASES / "C13.onnx")

    refused = read(CASES / "C13.jsonl", model=model)
    padded = read(CASES / "C13.jsonl", model=model, align={"h": 4, "w": 4})

    assert "h=1002" in refused.rejections["model_cannot_run"].first_place
    assert percentiles(padded, "h", 0, 50, 100) == [640, 720, 1004]


@HANDED
def test_c07_a_shape_input_without_values_is_an_error() -> None:
    with pytest.raises(TunerError, match=r"shape input 'target' needs its values.*values\.target"):
        read(CASES / "C07_novalues.jsonl", model=read_onnx(CASES / "C07.onnx"))


TRACES = CASES.parent / "traces"
WEKA = {"axes": {"seq": "in"}}


@pytest.mark.skipif(not TRACES.is_dir(), reason="the handed traces are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "settings", "requests", "quantiles"),
    [
        ("azure_llm_2023_conv.parquet", {}, 19_366, [2, 1020, 2735, 4142, 14_050]),
        ("azure_llm_2023_conv.csv", {}, 19_366, [2, 1020, 2735, 4142, 14_050]),
        ("mooncake_conversation.parquet", {}, 12_031, [891, 6909, 27_367, 85_401, 126_195]),
        ("mooncake_conversation.jsonl.gz", {}, 12_031, [891, 6909, 27_367, 85_401, 126_195]),
        (
            "weka_claude_code_odd.parquet",
            {"axes": {"seq": "in"}},
            25_226,
            [6343, 100_802, 200_198, 511_615, 880_502],
        ),
        ("servegen_m_small.parquet", {}, 613_553_755, [9, 40, 322, 1478, 151_068]),
        ("servegen_m_large.parquet", {}, 148_644_410, [1, 601, 2371, 5454, 30_712]),
    ],
)
def test_the_handed_traces_have_their_published_quantiles(
    name: str, settings: dict[str, Any], requests: int, quantiles: list[int]
) -> None:
    traffic = read(TRACES / name, **settings)

    assert traffic.histogram.request_count == requests
    assert percentiles(traffic, "seq", 0, 50, 90, 99, 100) == quantiles


@pytest.mark.skipif(not TRACES.is_dir(), reason="the handed traces are not beside this checkout")
def test_image_sizes_have_two_axes_and_no_time() -> None:
    traffic = read(TRACES / "mlperf_coco2014_image_sizes.parquet")

    assert (traffic.axes, len(traffic.histogram), traffic.start) == (("height", "width"), 598, None)
