"""`tuner inspect`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.commands.running import SAMPLES, Shell
from tests.logs.log_files import lines, parquet

START = 1_714_521_600


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = [{"ts": START + 60 * i, "batch": i % 4 + 1, "seq": 2 ** (i % 8)} for i in range(600)]
    return lines(tmp_path / "a.jsonl", rows)


def test_tables_show_sizes_heaviest_sizes_work_and_drift(shell: Shell, log: Path) -> None:
    ran = shell.tuner("inspect", "--logs", log)

    assert ran.exit_code == 0
    for words in (
        "600 requests in 600 of 600 rows (0 rejected), 8 distinct sizes",
        "from 2024-05-01 00:00:00 to 2024-05-01 09:59:00 UTC",
        "Heaviest sizes (batchxseq)",
        "Requests by work",
        "Over time, UTC (P50/P90/P99)",
        "note: seq is column 'seq' (its own name)",
    ):
        assert words in ran.out


def test_json_holds_the_same_for_machines(shell: Shell, log: Path) -> None:
    ran = shell.tuner("inspect", "--logs", log, "--json")

    told = json.loads(ran.out)
    assert (told["requests"], told["rows_read"], told["rows_used"], told["rejected"]) == (600, 600, 600, {})
    assert told["axes"]["seq"] == {"min": 1, "p50": 8, "p90": 128, "p99": 128, "max": 128, "zero_count": 0}
    assert told["span"] == {
        "start": "2024-05-01T00:00:00Z",
        "end": "2024-05-01T09:59:00Z",
        "seconds": 35_940.0,
    }
    assert told["holdout"] == {"by": "time", "share": 0.3}
    assert sum(heavy["request_share"] for heavy in told["heaviest"]) <= 1
    assert len(told["drift"]) == 10


def test_too_many_rejected_rows_are_exit_1_after_the_table(shell: Shell, tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"seq": 1}] * 9 + [{"seq": "x"}])

    ran = shell.tuner("inspect", "--logs", log, "--out", "traffic.parquet")

    assert ran.exit_code == 1
    assert "not_a_number" in ran.out
    assert "a.jsonl:line 10" in ran.out.replace("\n", "")
    assert ran.err.startswith("tuner: 1 of 10 rows are rejected (not_a_number 1)")
    assert not (shell.folder / "traffic.parquet").exists()
    assert shell.tuner("inspect", "--logs", log, "--max-rejected", "10%").exit_code == 0
    assert shell.tuner("inspect", "--logs", log, "--max-rejected", "100%", "--strict").exit_code == 1


def test_the_traffic_file_stands_in_for_the_logs(shell: Shell, log: Path) -> None:
    shell.tuner("inspect", "--logs", log, "--out", "traffic.parquet")
    whole, stand_in = (
        json.loads(shell.tuner("inspect", "--logs", name, "--json").out) for name in (log, "traffic.parquet")
    )

    for key in ("requests", "rows_read", "rejected", "span", "axes", "work", "heaviest", "holdout", "drift"):
        assert stand_in[key] == whole[key], key


def test_quiet_prints_nothing(shell: Shell, log: Path) -> None:
    assert shell.tuner("inspect", "--logs", log, "--quiet").out == ""


def test_a_traffic_file_has_to_be_named_as_parquet(shell: Shell, log: Path) -> None:
    ran = shell.tuner("inspect", "--logs", log, "--out", "traffic.csv")

    assert ran.exit_code == 2
    assert "name it like --out traffic.parquet" in ran.err


def test_a_documents_path_in_the_settings_is_left_alone(shell: Shell, log: Path) -> None:
    (shell.folder / "tuner.toml").write_text('out = "profile.json"\n')

    assert shell.tuner("inspect", "--logs", log).exit_code == 0
    assert not (shell.folder / "profile.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no logs given; pass --logs FILE"),
        (("--logs", "nowhere.parquet"), "no such file, folder or address"),
        (("--logs", "LOG", "--axis", "seq=sqe"), "no column 'sqe' in the logs; did you mean 'seq'"),
        (("--logs", "LOG", "--since", "soon"), "--since is 'soon'"),
        (("--logs", "LOG", "--log-kind", "rows"), "accepted are requests, batches, histogram"),
        (("--logs", "LOG", "--align", "sec=4"), "--align names the axis 'sec'; did you mean 'seq'"),
    ],
)
def test_what_a_user_can_cause_is_one_line(
    shell: Shell, log: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = shell.tuner("inspect", *(str(log) if a == "LOG" else a for a in arguments))

    assert ran.exit_code in (1, 2)
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_zero_sizes_are_said(shell: Shell, tmp_path: Path) -> None:
    log = lines(tmp_path / "a.jsonl", [{"batch": 1, "past": 0}, {"batch": 1, "past": 16}])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "past"]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")

    ran = shell.tuner("inspect", "--logs", log, "--model", tmp_path / "m.onnx")

    assert "1 of 2 requests has past 0" in ran.out


def test_the_samples_are_understood(shell: Shell) -> None:
    ran = shell.tuner("inspect", "--logs", SAMPLES / "prod.parquet", "--json")

    assert json.loads(ran.out)["requests"] == 44_000


def test_logs_without_times_have_no_drift(shell: Shell, tmp_path: Path) -> None:
    ran = shell.tuner("inspect", "--logs", parquet(tmp_path / "a.parquet", {"seq": [1, 2]}))

    assert "Over time" not in ran.out


def test_requests_far_beyond_the_others_are_named_as_outliers(shell: Shell, tmp_path: Path) -> None:
    rows = [{"batch": 8, "seq": 224}] * 199 + [{"batch": 64, "seq": 65_536}]

    far = shell.tuner("inspect", "--logs", lines(tmp_path / "far.jsonl", rows))
    near = shell.tuner("inspect", "--logs", lines(tmp_path / "near.jsonl", rows[:-1]))

    assert "1 of 200 requests is over 100 times the work of the P99, up to 64x65536" in far.out
    assert "times the work of the P99" not in near.out


def test_columns_that_were_not_used_are_offered(shell: Shell, tmp_path: Path) -> None:
    parquet(tmp_path / "logs" / "1.parquet", {"seq": [1]})
    parquet(tmp_path / "logs" / "2.parquet", {"seq": [2], "image_x": [224]})

    ran = shell.tuner("inspect", "--logs", tmp_path / "logs")

    assert "note: not used are the columns: image_x" in ran.out
