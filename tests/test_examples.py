"""The worked examples of the README run: recommend, gate, build, smoke-test and swap."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import types
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

import tuner
from tests.commands.running import ENCODER
from tests.export.consumer_parsers import run
from tests.export.written_documents import THREE, as_json, encoder, write
from tests.models import save
from tests.stand_ins.airflow_sdk import Airflow
from tuner.commands import app

EXAMPLES = Path(__file__).parent / "examples"
ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@pytest.mark.parametrize("name", ["nightly.mk", "nightly_dag.py", "build_in_python.py"])
def test_the_readme_shows_the_example_that_is_run(name: str) -> None:
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    if name not in text:
        pytest.skip("the README does not show the example yet")
    assert (EXAMPLES / name).read_text() in text


def measured_for(model: Path, target: Path) -> None:
    """The recorded latencies under the hash of a model that is small enough to be built in a test."""
    recorded = pq.read_table(ENCODER)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()[:16]
    column = recorded.schema.get_field_index("onnx_sha256_16")
    hashes = pa.array([digest] * len(recorded), recorded.schema.field(column).type)
    pq.write_table(recorded.set_column(column, recorded.schema.field(column), hashes), target)


@pytest.fixture
def night(tmp_path: Path) -> dict[str, str]:
    """A folder with logs and a model, `tuner` on the path, and the settings of both examples."""
    rows = ["batch,seq,count", "1,32,500", "2,64,300", "8,128,100", "64,512,20"]
    (tmp_path / "sizes.csv").write_text("\n".join(rows) + "\n")
    measured_for(save("tiny_encoder", tmp_path / "encoder.onnx"), tmp_path / "measured.parquet")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, arguments in (("tuner", "-m tuner"), ("python3", "")):
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        program.chmod(0o755)
    smoke = 'grep -q "$(sha256sum < next/model.engine | cut -c1-64)" next/model.engine.json'
    (tmp_path / "smoke.sh").write_text(smoke + "\n")
    return {
        **os.environ,
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "LOGS": "sizes.csv",
        "MODEL": "encoder.onnx",
        "LIVE": "live",
        "NEXT": "next",
        "RECOMMEND": "--measurements measured.parquet --store sqlite:///tuner.db --quiet",
        "BUILD": "--flavour tensorrt_rtx --precision fp32 --quiet",
        "SMOKE": "sh smoke.sh",
    }


def make(folder: Path, night: Mapping[str, str], *goals: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-f", str(EXAMPLES / "nightly.mk"), *goals]
    return subprocess.run(command, cwd=folder, env=dict(night), capture_output=True, text=True, check=False)


def dag(folder: Path, night: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Airflow:
    for name, value in night.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    airflow = Airflow()
    modules = {"airflow": types.ModuleType("airflow"), "airflow.sdk": airflow.module}
    run((EXAMPLES / "nightly_dag.py").read_text(), modules)
    return airflow


def assert_live(folder: Path) -> None:
    current = folder / "live" / "current"
    assert current.is_symlink()
    assert sorted(f.name for f in current.iterdir()) == ["model.engine", "model.engine.json", "profile.json"]
    profiles = json.loads((current / "profile.json").read_text())["profiles"]
    built = json.loads((current / "model.engine.json").read_text())["profiles"]
    assert built == [{bound: p[bound] for bound in ("min", "opt", "max")} for p in profiles]


recommend_options = {p.name for p in get_command(app).commands["recommend"].params}  # type: ignore[attr-defined]
needs_deployed = pytest.mark.skipif("deployed" not in recommend_options, reason="needs recommend --deployed")
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@needs_make
@pytest.mark.rtx
def test_a_night_of_make_recommends_builds_and_swaps(tmp_path: Path, night: dict[str, str]) -> None:
    done = make(tmp_path, night)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed: live/current" in done.stdout
    assert_live(tmp_path)


@needs_make
@needs_deployed
@pytest.mark.rtx
def test_the_next_night_on_the_same_traffic_keeps_what_is_live(tmp_path: Path, night: dict[str, str]) -> None:
    assert make(tmp_path, night).returncode == 0
    live = (tmp_path / "live" / "current").readlink()
    again = make(tmp_path, night)
    assert "kept: live/current" in again.stdout, again.stdout + again.stderr
    assert (tmp_path / "live" / "current").readlink() == live


@needs_make
@pytest.mark.rtx
def test_an_engine_that_fails_its_smoke_test_is_not_swapped_in(tmp_path: Path, night: dict[str, str]) -> None:
    done = make(tmp_path, {**night, "SMOKE": "false"})
    assert done.returncode != 0
    assert not (tmp_path / "live").exists()


@pytest.mark.rtx
def test_a_night_of_airflow_recommends_builds_and_swaps(
    tmp_path: Path, night: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow = dag(tmp_path, night, monkeypatch)
    assert [name for name, _ in airflow.ran] == ["recommend", "is_change", "build", "smoke_test", "swap"]
    assert_live(tmp_path)


@pytest.mark.rtx
def test_a_script_of_ones_own_builds_with_the_profiles(tmp_path: Path) -> None:
    model = save("tiny_encoder", tmp_path / "encoder.onnx")
    document = write(tmp_path / "profile.json", as_json(encoder(), THREE))
    rtx = importlib.import_module("tensorrt_rtx")
    scope = run((EXAMPLES / "build_in_python.py").read_text(), {"tensorrt": rtx})
    assert len(scope["build"](tuner.load(document), str(model))) > 0


def kept(folder: Path) -> str:
    """A document that keeps the deployed set, in place of what `recommend` would write."""
    document = {**as_json(encoder(), THREE), "decision": "keep", "reason": "no gain beyond the noise"}
    write(folder / "kept.json", document)
    program = folder / "bin" / "tuner"
    program.write_text('#!/bin/sh\n[ "$1" = recommend ] && exec cp kept.json next/profile.json\nexit 9\n')
    return str(program)


@needs_make
def test_make_goes_no_further_where_the_decision_is_to_keep(tmp_path: Path, night: dict[str, str]) -> None:
    kept(tmp_path)
    done = make(tmp_path, night)
    assert (done.returncode, "kept: live/current" in done.stdout) == (0, True), done.stderr
    assert not (tmp_path / "live").exists()


@needs_make
def test_make_stops_where_the_document_cannot_be_read(tmp_path: Path, night: dict[str, str]) -> None:
    kept(tmp_path)
    (tmp_path / "kept.json").write_text("{")
    assert make(tmp_path, night).returncode != 0


def test_airflow_goes_no_further_where_the_decision_is_to_keep(
    tmp_path: Path, night: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path)
    airflow = dag(tmp_path, night, monkeypatch)
    assert airflow.ran[-1] == ("is_change", "False")
    assert not (tmp_path / "live").exists()
