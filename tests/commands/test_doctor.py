"""`tuner doctor`: what is there, what is missing, what does not work."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.commands.running import Ran, Shell
from tuner.measurements.diagnosis import FLAVOURS, PACKAGES, State, abilities, diagnose

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_FOR_USERS = {"dev"}


def findings(ran: Ran) -> dict[str, dict[str, str]]:
    return {found["name"]: found for found in json.loads(ran.out)["findings"]}


def distribution(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0]


def test_a_machine_that_works_is_exit_0_and_says_what_it_can_do(shell: Shell) -> None:
    ran = shell.tuner("doctor")
    assert ran.exit_code == 0, ran.out
    assert "can recommend from recorded measurements" in ran.out
    assert f"{sys.version_info.major}.{sys.version_info.minor}." in ran.out
    assert shell.files == set()  # looking changes nothing


def test_what_is_missing_comes_with_what_to_install(shell: Shell) -> None:
    for found in findings(shell.tuner("doctor", "--json")).values():
        assert found["state"] == "ok" or found["advice"], found


def test_a_damaged_store_is_exit_1(shell: Shell) -> None:
    (shell.folder / "tuner.db").write_bytes(b"no database at all" * 100)
    ran = shell.tuner("doctor", "--json")
    assert ran.exit_code == 1
    assert findings(ran)["store"]["state"] == "broken"


def test_a_package_that_cannot_be_imported_is_exit_1(shell: Shell) -> None:
    """The folder stands in for an install that is broken: a module that fails to load its library."""
    (shell.folder / "numba").mkdir()
    (shell.folder / "numba" / "__init__.py").write_text("raise ImportError('libllvm.so: cannot open')")
    shell.monkeypatch.syspath_prepend(str(shell.folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "numba"]:
        shell.monkeypatch.delitem(sys.modules, name)
    ran = shell.tuner("doctor", "--json")
    assert ran.exit_code == 1
    found = findings(ran)["extra batching"]
    assert found["state"] == "broken"
    assert "libllvm.so" in found["detail"]


def test_every_package_that_the_project_names_is_looked_at() -> None:
    extras = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    wanted = {
        extra: {distribution(r) for r in given}
        for extra, given in extras.items()
        if extra not in NOT_FOR_USERS
    }
    looked = {extra: set(names) for extra, names in PACKAGES.items()}
    for extra, package in FLAVOURS.values():
        looked.setdefault(extra, set()).add(package)
    assert looked == wanted


def test_engines_are_timed_only_where_gpu_bindings_and_tensorrt_are_there() -> None:
    found = diagnose("sqlite:///none.db")
    can = abilities(found)
    fine = {one.name for one in found if one.state is State.FINE}
    assert can["build and time engines"] == ({"GPU", "extra gpu", "tensorrt"} <= fine)
    assert can["recommend from recorded measurements"]


@pytest.mark.rtx
def test_tensorrt_rtx_is_loaded_for_real_and_its_version_told() -> None:
    found = {one.name: one for one in diagnose("sqlite:///none.db")}
    assert found["tensorrt_rtx"].state is State.FINE
    assert re.match(r"\d+\.\d+", found["tensorrt_rtx"].detail)
