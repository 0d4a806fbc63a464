"""`tuner.toml`: a default for every option, checked whole."""

from __future__ import annotations

import json

import pytest

from tests.commands.running import ENCODER, Shell, assert_one_line

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
            ("unknown keys", "'log'; did you mean 'logs'?", "'modl'; did you mean 'model'?"),
        ),
        ("seed = [1]", ("key 'seed' holds [1]",)),
        ("[axis]\nseq = [1]", ("key 'axis.seq' holds [1]",)),
    ],
)
def test_a_wrong_file_is_one_line_with_every_problem(shell: Shell, toml: str, words: tuple[str, ...]) -> None:
    prepare(shell, toml)
    assert_one_line(shell.tuner("recommend"), "tuner.toml", *words)
