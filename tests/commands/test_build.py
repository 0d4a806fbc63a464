"""`tuner build` and `tuner measure` as a user runs them on a machine without a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import Shell, assert_one_line
from tests.models import save


def documented(shell: Shell) -> Path:
    """A document by rule for the tiny encoder, made from a log of two sizes."""
    save("tiny_encoder", shell.folder / "model.onnx")
    (shell.folder / "log.csv").write_text("batch,seq\n1,16\n4,64\n")
    ran = shell.tuner(
        "recommend", "--logs", "log.csv", "--model", "model.onnx", "--rule", "median", "--quiet"
    )
    assert ran.exit_code == 0
    return shell.folder / "profile.json"


@pytest.mark.rtx
def test_engine_is_built_with_its_facts_beside_it(shell: Shell) -> None:
    pytest.importorskip("tensorrt_rtx")
    documented(shell)
    ran = shell.tuner(
        *("build", "profile.json", "--model", "model.onnx", "--flavour", "tensorrt_rtx"),
        *("--precision", "fp32", "--out", "model.engine"),
    )
    assert ran.exit_code == 0
    assert "written: model.engine" in ran.out
    facts = json.loads((shell.folder / "model.engine.json").read_text())
    assert facts["bytes"] == (shell.folder / "model.engine").stat().st_size
    assert facts["environment"]["flavour"] == "tensorrt_rtx"


@pytest.mark.rtx
def test_precision_that_would_be_ignored_is_an_error(shell: Shell) -> None:
    pytest.importorskip("tensorrt_rtx")
    documented(shell)
    ran = shell.tuner("build", "profile.json", "--model", "model.onnx", "--flavour", "tensorrt_rtx")
    assert_one_line(ran, "fp16 would be ignored")
    assert not (shell.folder / "model.engine").exists()


def test_build_without_a_model_is_wrong_usage(shell: Shell) -> None:
    ran = shell.tuner("build", "profile.json")
    assert ran.exit_code == 2
    assert "--model FILE.onnx" in ran.err


def test_model_without_gpu_and_without_measurements_is_told_both(shell: Shell) -> None:
    save("tiny_encoder", shell.folder / "model.onnx")
    (shell.folder / "log.csv").write_text("batch,seq\n1,16\n4,64\n")
    ran = shell.tuner("recommend", "--logs", "log.csv", "--model", "model.onnx")
    assert_one_line(ran, "no GPU 0 answers", "has no measurements of model", "trt-profile-tuner[gpu]")


def test_model_that_is_no_onnx_is_told(shell: Shell) -> None:
    (shell.folder / "bad.onnx").write_text("hello")
    assert_one_line(shell.tuner("build", "profile.json", "--model", "bad.onnx"), "not a readable ONNX file")


def test_unknown_flavour_is_told(shell: Shell) -> None:
    documented(shell)
    ran = shell.tuner("build", "profile.json", "--model", "model.onnx", "--flavour", "onnx")
    assert_one_line(ran, "accepted are tensorrt, tensorrt_rtx")


def test_unreadable_workspace_is_wrong_usage(shell: Shell) -> None:
    documented(shell)
    ran = shell.tuner(
        *("build", "profile.json", "--model", "model.onnx", "--flavour", "tensorrt_rtx", "--workspace", "big")
    )
    assert ran.exit_code == 2
    assert "write it like --workspace 1GiB" in ran.err


def test_measuring_without_a_gpu_says_what_is_needed(shell: Shell) -> None:
    from tuner.measurements.gpu_state import gpu_facts

    if gpu_facts() is not None:
        pytest.skip("there is a GPU here")
    save("tiny", shell.folder / "model.onnx")
    ran = shell.tuner("measure", "--model", "model.onnx", "--sweep", "batch=1..8")
    assert_one_line(ran, "no GPU 0 answers")


def test_sweep_without_an_axis_is_told(shell: Shell) -> None:
    save("tiny_encoder", shell.folder / "model.onnx")
    ran = shell.tuner("measure", "--model", "model.onnx", "--sweep", "batch=1..8")
    assert_one_line(ran, "give each of them")
