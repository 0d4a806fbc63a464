"""What reaches a terminal, a pipe and a log: width, colour, completion, help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from tests.commands.running import ENCODER, Shell
from tests.commands.test_recommend import histogram_csv
from tuner.commands import COMMANDS, app

RUN = (sys.executable, "-c", "import sys; sys.argv[0] = 'tuner'; from tuner.commands import main; main()")
WIDTH = 80


def run_in_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """Output of the command in a pseudo-terminal of 80 columns, as a person would see it."""
    import pty

    code = (
        "import fcntl, struct, sys, termios\n"
        f"fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, {WIDTH}, 0, 0))\n"
        "from tuner.commands import main\nmain()"
    )
    master, slave = pty.openpty()
    settings = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    settings.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdout=slave,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=settings,
    )
    os.close(slave)
    output = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed: Linux says so by an error
            break
        if not part:
            break
        output += part
    os.close(master)
    assert process.wait() == 0, output.decode()
    return output.decode()


def recommend_arguments(shell: Shell) -> tuple[str, ...]:
    return ("recommend", "--logs", str(histogram_csv(shell)), "--measurements", str(ENCODER))


def rule_arguments(shell: Shell) -> tuple[str, ...]:
    return ("recommend", "--logs", str(histogram_csv(shell)), "--rule", "p90")


def test_everything_fits_into_80_columns_and_colour_can_be_turned_off(shell: Shell) -> None:
    output = run_in_terminal(shell.folder, *recommend_arguments(shell), NO_COLOR="1")
    assert "\x1b[3" not in output  # no colour; bold and dim stay
    lines = output.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "").splitlines()
    assert max(len(line.rstrip()) for line in lines) <= WIDTH
    assert any("recommended" in line for line in lines)


def test_a_terminal_gets_colour(shell: Shell) -> None:
    assert "\x1b[3" in run_in_terminal(shell.folder, *rule_arguments(shell)).replace("\x1b[1;32m", "\x1b[32m")


def test_a_pipe_gets_plain_text_with_whole_rows(shell: Shell) -> None:
    ran = shell.tuner(*recommend_arguments(shell))
    assert "\x1b" not in ran.out + ran.err
    row = next(line for line in ran.out.splitlines() if "rule max" in line)
    assert "64x512" in row
    assert "%" in row


def test_a_locale_without_the_characters_is_no_error(shell: Shell) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [*RUN, *rule_arguments(shell)],
        cwd=shell.folder,
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Recommended" in done.stdout


def test_a_name_that_looks_like_markup_is_shown_as_it_is(shell: Shell) -> None:
    (shell.folder / "log.jsonl").write_text('{"[/red]": 4, ":smile:": 8}\n' * 5)
    axes = ("--axis", "[/red]=[/red]", "--axis", ":smile:=:smile:")
    ran = shell.tuner("recommend", "--logs", "log.jsonl", *axes, "--rule", "p90")
    assert ran.exit_code == 0, ran.err
    assert "Recommended profiles ([/red], :smile:)" in ran.out


@pytest.mark.parametrize(
    ("words", "wanted"), [("tuner reco", {"recommend"}), ("tuner report --fo", {"--format"})]
)
def test_the_shell_completes_commands_and_options(words: str, wanted: set[str], tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "_TUNER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(RUN, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert set(done.stdout.split()) == wanted


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_a_sentence_and_an_example(name: str, shell: Shell) -> None:
    ran = shell.tuner(name, "--help")
    assert ran.exit_code == 0
    assert f"Example: tuner {name}" in " ".join(ran.out.split())
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    assert all(parameter.help for parameter in command.params), name
