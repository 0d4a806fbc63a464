"""The commands of the nightly job on recorded measurements: recommend over a deployed set, check, replay,
history and diff."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.commands.running import ENCODER, Ran, Shell, assert_one_line

SMALL = [(1, 32, 500), (2, 64, 300), (8, 128, 100), (4, 64, 50), (64, 512, 20)]
LARGE = [(1, 32, 200), (64, 256, 5000), (64, 384, 3000), (64, 512, 3000), (32, 256, 500)]


def log(shell: Shell, rows: list[tuple[int, int, int]], name: str = "day.csv") -> Path:
    path = shell.folder / name
    pd.DataFrame(rows, columns=["batch", "seq", "count"]).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder after the first night on small requests: profile.json and tuner.db."""
    folder = tmp_path_factory.mktemp("night")
    capture = pytest.MonkeyPatch()
    with capture.context() as patch:
        patch.chdir(folder)
        pd.DataFrame(SMALL, columns=["batch", "seq", "count"]).to_csv("day.csv", index=False)
        arguments = ["--logs", "day.csv", "--measurements", str(ENCODER), "--quiet"]
        patch.setattr("sys.argv", ["tuner", "recommend", *arguments])
        from tuner.commands import app

        with pytest.raises(SystemExit, match="0"):
            app()
    return folder


@pytest.fixture
def second(shell: Shell, night: Path) -> Shell:
    """A fresh copy of that folder to run the second night in."""
    for name in ("profile.json", "tuner.db", "day.csv"):
        shutil.copy(night / name, shell.folder / name)
    return shell


def recommend(shell: Shell, rows: list[tuple[int, int, int]], *more: str) -> Ran:
    given = ("--measurements", ENCODER, "--deployed", "profile.json", "--out", "new.json")
    ran = shell.tuner("recommend", "--logs", log(shell, rows, "tonight.csv"), *given, *more)
    assert ran.exit_code == 0, ran.err
    return ran


def read(shell: Shell, name: str) -> dict[str, Any]:
    return dict(json.loads((shell.folder / name).read_text()))


def bounds(of: dict[str, Any]) -> list[list[dict[str, int]]]:
    return [[profile[bound] for bound in ("min", "opt", "max")] for profile in of["profiles"]]


def test_a_night_with_nothing_to_do_keeps_without_searching(second: Shell) -> None:
    assert recommend(second, SMALL).exit_code == 0
    old, new = read(second, "profile.json"), read(second, "new.json")
    assert (new["decision"], bounds(new), new["routing"]) == ("keep", bounds(old), old["routing"])
    assert new["evidence"]["trials"] == 0
    assert new["check"]["drift"] is False


def test_a_night_on_other_traffic_changes_and_says_what_it_saves(second: Shell) -> None:
    recommend(second, LARGE)
    new = read(second, "new.json")
    assert new["decision"] == "change"
    assert "saves" in new["reason"]
    assert new["expected"]["deployed"]["profiles"]
    assert new["expected"]["deployed"]["gain"]["value"] > 0.02


def test_a_margin_that_is_not_met_keeps_with_the_challenger_beside_it(second: Shell) -> None:
    recommend(second, LARGE, "--min-gain", "95%")
    old, new = read(second, "profile.json"), read(second, "new.json")
    assert (new["decision"], bounds(new)) == ("keep", bounds(old))
    assert bounds(new["candidate"]) != bounds(new)


def test_force_searches(second: Shell) -> None:
    recommend(second, SMALL, "--force")
    new = read(second, "new.json")
    assert new["evidence"]["trials"] > 0
    assert (new["decision"], "found the deployed set again" in new["reason"]) == ("keep", True)


def test_the_first_night_may_name_the_document_that_it_is_to_write(shell: Shell) -> None:
    given = ("--logs", log(shell, SMALL), "--measurements", ENCODER, "--deployed", "profile.json", "--quiet")
    assert shell.tuner("recommend", *given).exit_code == 0
    assert read(shell, "profile.json")["reason"] == "no deployed set"


def test_a_deployed_document_that_is_not_there_is_an_error(shell: Shell) -> None:
    given = ("--logs", log(shell, SMALL), "--measurements", ENCODER, "--deployed", "other.json")
    assert_one_line(shell.tuner("recommend", *given), "other.json")
    assert "profile.json" not in shell.files


def check(shell: Shell, rows: list[tuple[int, int, int]], *more: str) -> Ran:
    return shell.tuner(
        "check", "--logs", log(shell, rows, "tonight.csv"), "--deployed", "profile.json", *more
    )


def test_check_finds_no_drift_in_the_same_traffic(second: Shell) -> None:
    ran = check(second, SMALL)
    assert (ran.exit_code, ran.out.splitlines()[0]) == (0, "no drift")


def test_check_finds_drift_with_its_reasons_and_exit_code(second: Shell) -> None:
    ran = check(second, LARGE, "--json")
    found = json.loads(ran.out)
    assert (ran.exit_code, found["drift"]) == (4, True)
    assert {reason.partition(":")[0] for reason in found["reasons"]} == {"sizes", "loss"}
    assert 0 < found["loss"]["low"] < found["loss"]["value"]


def test_requests_outside_the_deployed_profiles_are_drift(second: Shell) -> None:
    ran = check(second, [*SMALL, (1, 1024, 50)])
    assert ran.exit_code == 4
    assert "coverage: 4.90% of the requests are outside" in ran.out


def test_check_without_curves_says_what_it_can(second: Shell) -> None:
    (second.folder / "tuner.db").unlink()
    found = json.loads(check(second, SMALL, "--json").out)
    assert (found["loss"], found["drift"]) == (None, False)
    assert "there is none yet" in found["loss_unknown"]
    assert "tuner.db" not in second.files


def test_check_writes_metrics_for_prometheus(second: Shell) -> None:
    check(second, LARGE, "--metrics", "tuner.prom")
    lines = (second.folder / "tuner.prom").read_text().splitlines()
    assert "tuner_drift 1" in lines
    assert "# TYPE tuner_loss_ratio gauge" in lines
    assert all(line.startswith("#") or len(line.split()) == 2 for line in lines)


def test_check_without_a_document_says_what_to_pass(shell: Shell) -> None:
    assert_one_line(shell.tuner("check", "--logs", log(shell, SMALL)), "--deployed", exit_code=2)


def test_replay_gives_the_numbers_that_recommend_gave(second: Shell) -> None:
    ran = second.tuner("replay", "--logs", "day.csv", "--profile", "profile.json", "--json")
    expected = read(second, "profile.json")["expected"]
    found = json.loads(ran.out)
    assert found["tune"] == expected["tune"]
    assert found["holdout"] == expected["holdout"]


def test_replay_on_other_traffic_says_what_is_outside(second: Shell) -> None:
    ran = second.tuner(
        *("replay", "--profile", "profile.json", "--logs", log(second, [*SMALL, (1, 1024, 50)], "other.csv"))
    )
    assert "outside the profiles: 4.90% of the requests" in ran.out


def test_history_lists_what_each_night_decided(second: Shell) -> None:
    recommend(second, SMALL)
    recommend(second, LARGE)
    nights = json.loads(second.tuner("history", "--json").out)
    assert [one["decision"] for one in nights] == ["change", "keep", "change"]
    assert nights[2]["gain"] > 0.02
    assert nights[2]["shift"] > 0.5
    assert "saves" in " ".join(second.tuner("history").out.split())


def test_diff_says_in_words_what_changed(second: Shell) -> None:
    recommend(second, LARGE)
    ran = second.tuner("diff", "1", "new.json")
    assert "is gone" in ran.out
    assert "is new, for" in ran.out
    assert "traffic: batch p50 1 to 64" in ran.out
    assert ran.out == second.tuner("diff", "1", "2").out


def test_diff_of_the_same_document_says_so(second: Shell) -> None:
    assert second.tuner("diff", "1", "profile.json").out == "nothing that matters differs\n"


def test_a_night_that_is_not_there_is_an_error(second: Shell) -> None:
    assert_one_line(second.tuner("diff", "1", "7"), "has no night 7; its nights are 1 to 1")


@pytest.mark.parametrize("command", ["history", "diff"])
def test_a_store_that_is_not_there_is_not_made_by_reading(shell: Shell, command: str) -> None:
    ran = shell.tuner(command, *(("1", "2") if command == "diff" else ()))
    assert_one_line(ran, "there is none yet")
    assert shell.files == set()
