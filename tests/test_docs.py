"""The README is true: every command in it runs, every command and option of the tool is in it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

import tuner
from tests.readme_options import in_readme, options_table
from tuner.commands import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = ROOT / "sample_logs"

# Words that the glossary rules out, each unambiguous enough to search for.
BANNED_WORDS = ("binding", "workload", "qps", "sla", "artifact")


def console_blocks() -> list[tuple[str, list[str]]]:
    """Commands of the README's console blocks, each with the lines that its output must hold in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip().splitlines()
            found.append((command, [line for line in output if line.strip() not in ("", "...")]))
    return found


@pytest.fixture
def sample_folder(tmp_path: Path) -> Path:
    """A copy of the sample logs, as a reader's folder would be."""
    folder = tmp_path / "sample_logs"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns("tuner.db*", "profile.json"))
    return folder


def test_commands_of_the_readme_print_what_the_readme_says(sample_folder: Path) -> None:
    # One test, since a command may read what one before it wrote.
    for command, expected in console_blocks():
        output = printed(command, sample_folder)
        position = 0
        for wanted in (" ".join(part.split()) for text in expected for part in text.split("...")):
            position = output.find(wanted, position)
            assert position >= 0, f"{wanted!r} is not in the output of {command!r}:\n{output}"


def printed(command: str, folder: Path) -> str:
    """What a command line of the README prints in this folder, with white space made one."""
    program = f"{shlex.quote(sys.executable)} -m tuner"
    line = re.sub(r"(^|[|&;] *)tuner ", rf"\g<1>{program} ", command)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    output = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in output
    return output


def test_the_readme_has_console_blocks() -> None:
    assert console_blocks()


def test_every_command_is_in_the_readme() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    assert [name for name in commands if f"tuner {name}" not in README] == []


def test_the_table_of_options_is_that_of_the_commands() -> None:
    assert in_readme() == options_table(), "run: python -m tests.readme_options"


def test_the_changelog_has_the_packages_version_or_is_unreleased() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert packaged == tuner.__version__
    assert "## Unreleased" in changelog or f"## {packaged}" in changelog


def test_what_the_package_promises_is_there() -> None:
    assert [name for name in tuner.__all__ if not hasattr(tuner, name)] == []


def test_relative_links_of_the_readme_resolve() -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_banned_words_occur_in_no_name_of_the_package() -> None:
    found = []
    for file in (ROOT / "tuner").rglob("*.py"):
        names = set(re.findall(r"[A-Za-z_]+", file.read_text(encoding="utf-8")))
        parts = {part.lower() for name in names for part in name.split("_")}
        found += [f"{file.name}: {word}" for word in BANNED_WORDS if word in parts]
    assert found == []
