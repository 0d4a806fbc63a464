"""`tuner.toml`: a default for every option, checked whole."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands.running import ENCODER, Shell, assert_one_line
from tuner.commands import COMMANDS
from tuner.commands.option_kinds import kinds_of
from tuner.commands.settings_file import settings_of
from tuner.errors import TunerError

LOG = '{"b": 1, "s": 32}\n{"b": 4, "s": 128}\n'


def prepare(shell: Shell, toml: str) -> None:
    (shell.folder / "log.jsonl").write_text(LOG)
    (shell.folder / "tuner.toml").write_text(toml)


GOOD = f'logs = "log.jsonl"\nmeasurements = "{ENCODER}"\nseed = 3\n[axis]\nbatch = "b"\nseq = "s"\n'


def seed(shell: Shell) -> int:
    return int(json.loads((shell.folder / "profile.json").read_text())["evidence"]["seed"])


def test_every_option_can_come_from_the_file(shell: Shell) -> None:
    prepare(shell, GOOD)
    assert shell.tuner("recommend").exit_code == 0
    assert seed(shell) == 3


def test_a_variable_beats_the_file_and_an_option_beats_both(shell: Shell) -> None:
    prepare(shell, GOOD)
    shell.monkeypatch.setenv("TUNER_SEED", "4")
    shell.tuner("recommend")
    assert seed(shell) == 4
    shell.tuner("recommend", "--seed", "5")
    assert seed(shell) == 5


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("logs = [", ("not readable as TOML",)),
        (
            "log = 'x'\nmodl = 'y'",
            ("'log'; did you mean 'logs'?", "'modl'; did you mean 'model'?", "accepted keys are"),
        ),
        ("seed = [1]", ("seed = [1]: a whole number from 0 is accepted",)),
        ("seed = true", ("seed = True: a whole number from 0 is accepted",)),
        ("builds = 0", ("builds = 0: a whole number from 1 is accepted",)),
        ("max_hours = nan", ("max_hours = nan: a number from 0 is accepted",)),
        ("strict = 'yes'", ("strict = 'yes': true or false is accepted",)),
        ("[axis]\nseq = [1]", ("axis.seq = [1]: a column or a number is accepted",)),
        ("[cap]\nseq = 0", ("cap.seq = 0: a whole number from 1 up is accepted",)),
        ("align = 'seq'", ("align = 'seq': text like 'name=value', or a table [align],",)),
        ("logs = [1]", ("logs = 1: text is accepted, or a list of texts",)),
        ("mode = 'fats'", ("mode = 'fats': accepted are enqueue, cuda_graph",)),
        ("objective = 'gpu_tme'", ("gpu_time", "did you mean 'gpu_time'?")),
        ("max_rejected = '120%'", ("max_rejected = '120%': ", "write a share like 1% or 0.01")),
        ("since = 'noon'", ("since = 'noon': ", "2024-05-01T12:00:00Z")),
        ("workspace = 'lots'", ("workspace = 'lots': ", "1GiB")),
        ("store = 'tuner.db'", ("store = 'tuner.db': ", "sqlite:///tuner.db")),
        (
            "seed = -1\nbuilds = 'x'\nmode = 3\nlgos = ''",
            ("unknown key 'lgos'", "seed = -1", "builds = 'x'", "mode = 3"),
        ),
        ("log_kind = '''a\nb'''", ("log_kind = 'a\\nb'",)),
    ],
)
def test_a_wrong_file_is_one_line_with_every_problem(shell: Shell, toml: str, words: tuple[str, ...]) -> None:
    prepare(shell, toml)
    assert_one_line(shell.tuner("recommend"), "tuner.toml", *words)


def test_a_toml_time_is_as_good_as_text(shell: Shell) -> None:
    prepare(shell, "since = 2024-05-01T00:00:00Z\n" + GOOD)
    ran = shell.tuner("recommend")
    assert "since" not in ran.err


@given(st.text(max_size=200))
def test_any_text_as_settings_is_read_or_refused_in_one_line(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tuner.toml").write_text(text, encoding="utf-8", newline="")
        check_settings(Path(folder))


TOML_VALUES = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.text(max_size=20),
    st.lists(st.integers() | st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3),
)
KEYS = sorted({kind.key for command in COMMANDS.values() for kind in kinds_of(command)})


@given(st.dictionaries(st.sampled_from(KEYS), TOML_VALUES, min_size=1, max_size=4))
def test_any_value_of_a_known_key_is_taken_or_refused_in_one_line(values: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"{key} = {toml_of(value)}" for key, value in values.items()]
        Path(folder, "tuner.toml").write_text("\n".join(lines), encoding="utf-8")
        check_settings(Path(folder))


def check_settings(folder: Path) -> None:
    problem = ""
    try:
        settings_of(COMMANDS, folder)
    except TunerError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1, problem


def toml_of(value: Any) -> str:
    """Numbers and texts are spelt in TOML as in JSON; tables are inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_of, value)) + "]"
    if isinstance(value, float):
        return (
            repr(value).replace("e", ".0e") if "e" in repr(value) and "." not in repr(value) else repr(value)
        )
    return json.dumps(value)
