"""`tuner recommend` as a user runs it on recorded measurements."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest

from tests.commands.running import ENCODER, SAMPLES, Ran, Shell, assert_one_line
from tuner.recommendation.document import schema

MIX = [(1, 32, 500), (2, 64, 300), (8, 128, 100), (64, 128, 50), (64, 512, 20)]


def histogram_csv(shell: Shell, rows: list[tuple[int, int, int]] = MIX) -> Path:
    path = shell.folder / "sizes.csv"
    pd.DataFrame(rows, columns=["batch", "seq", "count"]).to_csv(path, index=False)
    return path


def recommend(shell: Shell, *more: str) -> Ran:
    return shell.tuner("recommend", "--logs", histogram_csv(shell), "--measurements", ENCODER, *more)


def document(shell: Shell) -> dict[str, Any]:
    return dict(json.loads((shell.folder / "profile.json").read_text()))


def test_the_sample_gives_a_valid_document_and_the_same_bytes_again(shell: Shell) -> None:
    for name in ("prod.parquet", "tuner.toml", ENCODER.name):
        shutil.copy(SAMPLES / name, shell.folder)
    assert shell.tuner("recommend", "--logs", "prod.parquet").exit_code == 0
    first = (shell.folder / "profile.json").read_bytes()
    jsonschema.validate(json.loads(first), schema())
    (shell.folder / "tuner.db").unlink()
    assert shell.tuner("recommend", "--logs", "prod.parquet").exit_code == 0
    assert (shell.folder / "profile.json").read_bytes() == first
    assert shell.tuner("recommend", "--logs", "prod.parquet").exit_code == 0  # the study is read now
    assert (shell.folder / "profile.json").read_bytes() == first


def test_the_table_shows_the_set_beside_every_rule(shell: Shell) -> None:
    ran = recommend(shell)
    assert ran.exit_code == 0
    for row in (
        "recommended",
        "rule max",
        "rule median",
        "rule mode",
        "rule p90",
        "rule midpoint",
        "rule static",
    ):
        assert row in ran.out


def test_the_document_names_the_evidence(shell: Shell) -> None:
    recommend(shell, "--seed", "5")
    found = document(shell)["evidence"]
    assert found["latencies"] == "recorded"
    assert (found["gpu"], found["tensorrt"], found["seed"]) == ("NVIDIA H200", "8.6.0", 5)
    assert found["model_hash"] == "a98f69388fc2e0e9"


def test_profiles_are_written_per_axis_and_per_input_tensor(shell: Shell) -> None:
    recommend(shell, "--profiles", "1")
    profile = document(shell)["profiles"][0]
    assert profile["max"] == {"batch": 64, "seq": 512}
    assert profile["tensors"]["input_ids"]["max"] == [64, 512]
    assert profile["tensors"]["attention_mask"]["opt"] == list(profile["opt"].values())


@pytest.mark.parametrize("count", [1, 2, 3])
def test_exactly_so_many_profiles_are_given_as_asked(shell: Shell, count: int) -> None:
    recommend(shell, "--profiles", str(count))
    assert len(document(shell)["profiles"]) == count


def test_every_size_of_the_traffic_is_routed_to_a_profile_that_covers_it(shell: Shell) -> None:
    recommend(shell)
    found = document(shell)
    routed = {tuple(entry["size"].values()): entry["profile"] for entry in found["routing"]["table"]}
    assert set(routed) == {row[:2] for row in MIX}
    for size, index in routed.items():
        bounds = [found["profiles"][index][bound].values() for bound in ("min", "max")]
        assert all(low <= value <= high for value, low, high in zip(size, *bounds, strict=True))


def test_json_on_stdout_is_the_document(shell: Shell) -> None:
    ran = recommend(shell, "--json")
    assert json.loads(ran.out) == document(shell)


def test_quiet_prints_nothing(shell: Shell) -> None:
    ran = recommend(shell, "--quiet")
    assert (ran.out, ran.err) == ("", "")
    assert "profile.json" in shell.files


def test_sizes_beyond_the_measurements_are_uncovered_and_stated(shell: Shell) -> None:
    log = histogram_csv(shell, [*MIX, (1, 1024, 30)])
    shell.tuner("recommend", "--logs", log, "--measurements", ENCODER)
    uncovered = document(shell)["traffic"]["uncovered"]
    assert (uncovered["action"], uncovered["requests"]) == ("exclude", 30)
    assert uncovered["requests_share"] == pytest.approx(0.03)
    assert document(shell)["traffic"]["rejected"] == {}


def test_clipped_sizes_count_at_the_nearest_size_in_range(shell: Shell) -> None:
    log = histogram_csv(shell, [(1, 32, 500), (1, 1024, 500)])
    shell.tuner("recommend", "--logs", log, "--measurements", ENCODER, "--uncovered", "clip")
    found = document(shell)
    assert found["traffic"]["uncovered"]["action"] == "clip"
    assert {entry["size"]["seq"] for entry in found["routing"]["table"]} == {32, 512}


def test_a_cap_makes_larger_sizes_uncovered(shell: Shell) -> None:
    ran = recommend(shell, "--cap", "batch=8")
    assert ran.exit_code == 0
    found = document(shell)
    assert found["traffic"]["uncovered"]["requests"] == 70
    assert {profile["max"]["batch"] for profile in found["profiles"]} <= set(range(1, 9))


def test_a_rule_needs_no_measurements_and_says_so(shell: Shell) -> None:
    ran = shell.tuner("recommend", "--logs", histogram_csv(shell), "--rule", "p90")
    assert ran.exit_code == 0
    found = document(shell)
    jsonschema.validate(found, schema())
    assert (found["evidence"], found["expected"]) == ("rule", None)


def test_with_nothing_to_judge_by_it_says_what_to_pass(shell: Shell) -> None:
    ran = shell.tuner("recommend", "--logs", histogram_csv(shell))
    assert_one_line(ran, "nothing to judge by", "--measurements", "--model", "--rule")
    assert "profile.json" not in shell.files


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--objective", "speed"), ("there is no objective 'speed'", "gpu_time")),
        (("--weight", "money"), ("--weight is 'money'", "requests and work")),
        (("--uncovered", "drop"), ("--uncovered is 'drop'", "exclude and clip")),
        (("--rule", "medain"), ("did you mean 'median'?",)),
        (("--cap", "sq=5"), ("--cap names the axis 'sq'", "did you mean 'seq'?")),
        (("--measurements", "none.parquet"), ("none.parquet: no such file",)),
        (("--store", "sqlite:////nowhere/t.db"), ("must exist and be writable",)),
        (("--out", "nowhere/p.json"), ("the folder", "does not exist")),
        (("--model", "none.onnx"), ("none.onnx: no such file",)),
        (("--axis", "seq=lenght"), ("lenght",)),
        (("--axis", "sequence=seq"), ("sequence",)),
    ],
)
def test_a_wrong_value_is_one_line_and_leaves_no_document(
    shell: Shell, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_one_line(recommend(shell, *options), *words)
    assert not {name for name in shell.files if name.endswith(".json")}


@pytest.mark.parametrize(
    "options", [("--mode", "fast"), ("--axis", "seq"), ("--cap", "seq=x"), ("--max-rejected", "much")]
)
def test_what_makes_no_sense_is_wrong_usage(shell: Shell, options: tuple[str, ...]) -> None:
    assert_one_line(recommend(shell, *options), exit_code=2)


def test_nothing_covered_is_exit_3_and_writes_no_document(shell: Shell) -> None:
    log = histogram_csv(shell, [(1, 4096, 5)])
    ran = shell.tuner("recommend", "--logs", log, "--measurements", ENCODER)
    assert_one_line(ran, "none of the 5 requests is covered", "--uncovered clip", exit_code=3)
    assert "profile.json" not in shell.files


def test_a_document_that_was_there_survives_a_failed_run(shell: Shell) -> None:
    (shell.folder / "profile.json").write_text("precious")
    recommend(shell, "--measurements", "none.parquet")
    assert (shell.folder / "profile.json").read_text() == "precious"


def test_rejected_rows_are_shown_before_too_many_of_them_end_the_run(shell: Shell) -> None:
    log = shell.folder / "log.jsonl"
    log.write_text('{"batch": 1, "seq": 32}\n' * 8 + '{"batch": 1, "seq": null}\n{"batch": 0, "seq": 32}\n')
    arguments = ("recommend", "--logs", log, "--measurements", ENCODER)
    ran = shell.tuner(*arguments)
    assert ran.exit_code == 1
    assert "2 of 10 rows rejected" in ran.err
    assert "log.jsonl:line 9" in ran.err
    assert ran.err.splitlines()[-1].startswith("tuner: 2 of 10 rows are rejected (missing 1, not_positive 1)")
    assert "profile.json" not in shell.files
    assert shell.tuner(*arguments, "--max-rejected", "20%").exit_code == 0
    assert document(shell)["traffic"]["rejected"]["missing"]["rows"] == 1
    assert shell.tuner(*arguments, "--max-rejected", "20%", "--strict").exit_code == 1


def test_limits_samplers_and_explanations_are_options(shell: Shell) -> None:
    arguments = (
        *("recommend", "--logs", SAMPLES / "histogram.csv", "--measurements", ENCODER),
        *("--sampler", "random", "--slo", "service_p99<=1s", "--pareto", "--explain"),
    )
    ran = shell.tuner(*arguments)
    assert ran.exit_code == 0, ran.err
    for words in ("What each profile is worth", "second best of as many", "Sets that nothing beats"):
        assert words in ran.out
    document = json.loads((shell.folder / "profile.json").read_text())
    assert document["evidence"]["sampler"] == "random"
    assert document["pareto"]


def test_a_limit_that_cannot_be_read_is_a_usage_error(shell: Shell) -> None:
    arguments = ("recommend", "--logs", SAMPLES / "histogram.csv", "--measurements", ENCODER)
    ran = shell.tuner(*arguments, "--slo", "p99<5ms")
    assert_one_line(ran, "--slo 'p99<5ms' cannot be read", exit_code=2)


def test_a_sampler_that_does_not_exist_is_a_usage_error(shell: Shell) -> None:
    arguments = ("recommend", "--logs", SAMPLES / "histogram.csv", "--measurements", ENCODER)
    ran = shell.tuner(*arguments, "--sampler", "gp")
    assert_one_line(ran, "--sampler is 'gp'", "curves, tpe, random", exit_code=2)
