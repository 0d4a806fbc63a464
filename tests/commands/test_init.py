"""`tuner init` and `tuner config`: a first settings file, and what a run would go by."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands.running import ENCODER, SAMPLES, Shell, assert_one_line
from tuner.commands import COMMANDS
from tuner.commands.option_kinds import kinds_of
from tuner.commands.settings_template import settings_text


@pytest.fixture
def sample(shell: Shell) -> Shell:
    for name in ("prod.parquet", ENCODER.name):
        shutil.copy(SAMPLES / name, shell.folder)
    return shell


def init(shell: Shell) -> dict[str, Any]:
    ran = shell.tuner("init", "--logs", "prod.parquet", "--measurements", ENCODER.name)
    assert ran.exit_code == 0, ran.err
    return tomllib.loads((shell.folder / "tuner.toml").read_text())


def test_init_writes_what_it_found_in_the_log(sample: Shell) -> None:
    assert init(sample) == {
        "logs": ["prod.parquet"],
        "measurements": ENCODER.name,
        "log_kind": "requests",
        "time": "time",
        "axis": {"batch": "batch_size", "seq": "seq_len"},
    }


def test_recommend_runs_on_what_init_wrote(sample: Shell) -> None:
    init(sample)
    assert sample.tuner("recommend", "--quiet").exit_code == 0
    assert "profile.json" in sample.files


def test_every_option_of_a_night_is_in_the_file_as_key_or_comment(sample: Shell) -> None:
    init(sample)
    text = (sample.folder / "tuner.toml").read_text()
    once = {"rule", "json", "quiet", "verbose", "force"}
    for kind in kinds_of(COMMANDS["recommend"]):
        assert kind.key in once or f"{kind.key} =" in text or f"[{kind.key}]" in text


def test_init_never_overwrites(sample: Shell) -> None:
    (sample.folder / "tuner.toml").write_text("seed = 5\n")
    ran = sample.tuner("init", "--logs", "prod.parquet")
    assert_one_line(ran, "tuner.toml exists already", "move it away")
    assert (sample.folder / "tuner.toml").read_text() == "seed = 5\n"


def test_init_without_logs_says_what_to_pass(shell: Shell) -> None:
    assert_one_line(shell.tuner("init"), "--logs FILE", exit_code=2)


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=12), max_size=3), st.text(max_size=30)
)
def test_any_names_give_a_file_that_reads_back(axes: dict[str, str], model: str) -> None:
    found = {"model": model, "axis": axes}
    text = settings_text(kinds_of(COMMANDS["recommend"]), found, {}, "A heading.")
    assert tomllib.loads(text) == {key: value for key, value in found.items() if value or key == "model"}


def settings(shell: Shell, *arguments: str | Path) -> dict[str, tuple[Any, str]]:
    ran = shell.tuner("config", *arguments, "--json")
    return {row["key"]: (row["value"], row["from"]) for row in json.loads(ran.out)["settings"]}


def test_config_says_where_each_setting_comes_from(shell: Shell) -> None:
    (shell.folder / "tuner.toml").write_text('builds = 9\n[axis]\nseq = "s"\n')
    shell.monkeypatch.setenv("TUNER_SEED", "4")
    found = settings(shell, "recommend", "--max-profiles", "2")
    assert found["builds"] == (9, "tuner.toml")
    assert found["axis"] == (["seq=s"], "tuner.toml")
    assert found["seed"] == (4, "variable TUNER_SEED")
    assert found["max_profiles"] == (2, "option --max-profiles")
    assert found["weight"] == ("requests", "default")


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://me:hunter2@host/db", "postgresql+psycopg://host/db?user=me&password=hunter2"],
)
def test_config_never_shows_a_password(shell: Shell, url: str) -> None:
    ran = shell.tuner("config", "recommend", "--store", url)
    assert "hunter2" not in ran.out + ran.err
    assert "postgresql+psycopg://" in ran.out


def test_config_of_no_command_names_the_nearest(shell: Shell) -> None:
    assert_one_line(shell.tuner("config", "recomend"), "did you mean 'recommend'?", exit_code=2)
