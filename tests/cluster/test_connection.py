"""Joining a cluster fails in one line: no Ray, no cluster, an address that cannot be read."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from tests.cluster.log_files import write_lines
from tests.commands.conftest import shell  # noqa: F401  # the fixture of the command tests
from tests.commands.running import Shell, assert_one_line
from tuner.cluster.nodes import Node, choose_kind, refuse_other_versions
from tuner.errors import TunerError


def log_in(folder: Path) -> Path:
    return write_lines(folder / "a.jsonl", [{"batch": 1, "seq": n} for n in range(1, 9)])


def test_without_ray_the_extra_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = shell.tuner("inspect", "--logs", log_in(shell.folder), "--ray", "auto")
    assert_one_line(ran, "--ray needs Ray", "pip install 'trt-profile-tuner[ray]'")


def test_without_the_option_ray_is_not_imported(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setitem(sys.modules, "ray", None)
    assert shell.tuner("inspect", "--logs", log_in(shell.folder)).exit_code == 0


def test_silent_port_is_said_at_once(shell: Shell) -> None:  # noqa: F811
    pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = shell.tuner("inspect", "--logs", log_in(shell.folder), "--ray", address)
    assert_one_line(ran, f"--ray {address}: no Ray cluster can be joined", "refused", "ray status")


def test_address_without_a_port_says_how_to_write_it(shell: Shell) -> None:  # noqa: F811
    pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")
    ran = shell.tuner("inspect", "--logs", log_in(shell.folder), "--ray", "headnode")
    assert_one_line(ran, "--ray 'headnode' cannot be read", "10.0.0.5:6379", "auto", "local")


def test_nodes_of_another_version_are_named() -> None:
    nodes = [Node("1", "a", {}, "1.0"), Node("2", "b", {}, "0.9"), Node("3", "c", {}, None)]
    with pytest.raises(TunerError, match=r"tuner is 1\.0 here, but b has 0\.9, c has none.*==1\.0"):
        refuse_other_versions(nodes, "1.0")


def test_custom_resource_tells_a_kind_too() -> None:
    nodes = [
        Node("1", "a", {"GPU": 1.0, "accelerator_type:H200": 1.0, "driver580": 1.0}),
        Node("2", "b", {"GPU": 1.0, "accelerator_type:H200": 1.0, "driver570": 1.0}),
    ]
    assert choose_kind(nodes, None).demand == {"accelerator_type:H200": 0.001}
    assert choose_kind(nodes, "driver570").demand == {"driver570": 0.001}


def test_gpus_of_unknown_kind_need_no_resource() -> None:
    assert choose_kind([Node("1", "a", {"GPU": 2.0, "CPU": 8.0})], None).demand == {}
