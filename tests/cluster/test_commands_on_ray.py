"""The commands give the same bytes on a cluster as here."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.log_files import write_lines
from tests.commands.conftest import shell  # noqa: F401  # the fixture of the command tests
from tests.commands.running import ENCODER, Shell, assert_one_line

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")


def logs(shell: Shell) -> list[str]:  # noqa: F811
    rows = [{"time": 1_700_000_000 + n, "batch": 1 << n % 7, "seq": 16 + 7 * n % 480} for n in range(3000)]
    write_lines(shell.folder / "a.jsonl", rows)
    return ["--logs", "a.jsonl"]


def test_inspect_writes_the_same_traffic_file_and_json(two_nodes: Any, shell: Shell) -> None:  # noqa: F811
    asked = ["inspect", *logs(shell), "--json", "--out"]
    here = shell.tuner(*asked, "here.parquet")
    there = shell.tuner(*asked, "there.parquet", "--ray", two_nodes.address)
    assert (there.exit_code, there.err) == (0, "")
    assert there.out == here.out
    assert (shell.folder / "there.parquet").read_bytes() == (shell.folder / "here.parquet").read_bytes()


def test_recommend_writes_the_same_document(two_nodes: Any, shell: Shell) -> None:  # noqa: F811
    asked = ["recommend", *logs(shell), "--measurements", ENCODER, "--quiet"]
    assert shell.tuner(*asked, "--out", "here.json", "--store", "sqlite:///here.db").exit_code == 0
    more = ["--out", "there.json", "--store", "sqlite:///there.db", "--ray", two_nodes.address]
    ran = shell.tuner(*asked, *more)
    assert (ran.exit_code, ran.err) == (0, "")
    assert (shell.folder / "there.json").read_bytes() == (shell.folder / "here.json").read_bytes()


def test_several_at_once_change_the_study_and_not_the_rules(shell: Shell) -> None:  # noqa: F811
    asked = ["recommend", *logs(shell), "--measurements", ENCODER, "--quiet", "--at-once", "4"]
    for name in ("one.json", "two.json"):
        assert shell.tuner(*asked, "--out", name, "--store", f"sqlite:///{name}.db").exit_code == 0
    assert (shell.folder / "one.json").read_bytes() == (shell.folder / "two.json").read_bytes()


def test_cluster_without_tensorrt_is_said_before_the_first_build(
    two_nodes: Any,
    shell: Shell,  # noqa: F811
) -> None:
    from tests.models import save

    save("tiny_encoder", shell.folder / "model.onnx")
    ran = shell.tuner("recommend", *logs(shell), "--model", "model.onnx", "--ray", two_nodes.address)
    assert_one_line(ran, "H200 nodes cannot build", "NVML")


def test_fleet_reads_its_logs_on_the_cluster(two_nodes: Any, shell: Shell) -> None:  # noqa: F811
    jobs = "".join(f'[job.{n}]\nlogs = "a.jsonl"\nmeasurements = "{ENCODER}"\n' for n in ("x", "y"))
    logs(shell)
    documents = []
    for folder, more in (("here", []), ("there", ["--ray", two_nodes.address])):
        text = f'gpu_hours = 1\nfirst_builds = 4\nout = "{folder}"\n{jobs}'
        (shell.folder / "fleet.toml").write_text(text)
        assert shell.tuner("fleet", "fleet.toml", "--quiet", *more).exit_code == 0
        documents.append([(shell.folder / folder / f"{n}.json").read_bytes() for n in ("x", "y")])
    assert documents[0] == documents[1]
