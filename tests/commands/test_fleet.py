"""`tuner fleet` on recorded measurements, and what it says of files that it cannot use."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.commands.running import ENCODER, Shell, assert_one_line
from tuner.recommendation.document import schema

LOGS = "batch,seq,count\n1,32,500\n2,64,300\n8,128,100\n64,128,50\n64,512,20\n"


def write_fleet(shell: Shell, jobs: str, head: str = "gpu_hours = 4\nfirst_builds = 2\n") -> Path:
    (shell.folder / "sizes.csv").write_text(LOGS)
    path = shell.folder / "fleet.toml"
    path.write_text(head + jobs)
    return path


def job(name: str, more: str = "") -> str:
    return f'[job.{name}]\nlogs = "sizes.csv"\nmeasurements = "{ENCODER}"\n{more}\n'


def test_every_job_has_a_document_and_the_summary_names_it(shell: Shell) -> None:
    write_fleet(shell, job("day") + job("night", 'objective = "service_p99"\ngpu_kind = "L4"'))
    ran = shell.tuner("fleet", "fleet.toml")
    assert ran.exit_code == 0, ran.err
    summary = json.loads((shell.folder / "fleet" / "fleet.json").read_text())
    assert [(j["name"], j["kind"], j["decision"]) for j in summary["jobs"]] == [
        ("day", "GPU", "change"),
        ("night", "L4", "change"),
    ]
    for one in summary["jobs"]:
        jsonschema.validate(json.loads((shell.folder / one["document"]).read_text()), schema())
    page = next((shell.folder / "fleet").glob("fleet.[hm]*"))
    assert "day" in page.read_text()


def test_a_fleet_job_ends_at_the_set_that_recommend_finds_with_as_many_builds(shell: Shell) -> None:
    path = write_fleet(shell, job("day"), "gpu_hours = 4\nfirst_builds = 50\n")
    assert shell.tuner("fleet", path).exit_code == 0
    more = ("--measurements", ENCODER, "--builds", "50", "--quiet", "--out", "alone.json")
    assert shell.tuner("recommend", "--logs", "sizes.csv", *more).exit_code == 0
    alone = json.loads((shell.folder / "alone.json").read_text())
    assert json.loads((shell.folder / "fleet" / "day.json").read_text())["profiles"] == alone["profiles"]


def test_job_with_a_problem_does_not_end_the_others(shell: Shell) -> None:
    write_fleet(shell, job("day") + job("odd", 'axis = "seq=nowhere"'))
    ran = shell.tuner("fleet", "fleet.toml", "--json")
    assert ran.exit_code == 1
    day, odd = json.loads(ran.out)["jobs"]
    assert day["decision"] == "change"
    assert "nowhere" in odd["problem"]
    assert not (shell.folder / "fleet" / "odd.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("gpu_hours is missing", "there is no job")),
        ("gpu_hours = 0\n" + job("a"), ("gpu_hours = 0", "a number above 0")),
        ("gpu_hours = 1\nfirst_build = 3\n" + job("a"), ("'first_build'", "did you mean 'first_builds'")),
        ("gpu_hours = 1\n" + job("a", 'modle = "x.onnx"'), ("a: unknown key 'modle'", "did you mean 'mode'")),
        ("gpu_hours = 1\n" + job("a", 'mode = "warm"'), ("a: mode = 'warm'", "cuda_graph")),
        ("gpu_hours = 1\n" + job("a", "builds = 9"), ("a: unknown key 'builds'",)),
        ("gpu_hours = = 1", ("not readable as TOML",)),
    ],
)
def test_problems_of_the_file_are_said_before_any_work(
    shell: Shell, text: str, words: tuple[str, ...]
) -> None:
    write_fleet(shell, "", text)
    assert_one_line(shell.tuner("fleet", "fleet.toml"), "fleet.toml", *words)
    assert not (shell.folder / "fleet").exists()


def test_jobs_that_share_a_store_are_refused(shell: Shell) -> None:
    write_fleet(shell, job("a", 'store = "sqlite:///x.db"') + job("b", 'store = "sqlite:///x.db"'))
    assert_one_line(shell.tuner("fleet", "fleet.toml"), "jobs a and b share a store")


def test_missing_file_is_named(shell: Shell) -> None:
    assert_one_line(shell.tuner("fleet", "nowhere.toml"), "nowhere.toml", "cannot be read")
