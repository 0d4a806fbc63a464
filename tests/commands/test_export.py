"""`tuner export`, `tuner schema` and `tuner recommend --to` as a user runs them."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.commands.running import ENCODER, Shell, assert_one_line
from tests.export.consumer_parsers import triton_config
from tests.export.written_documents import THREE, as_json, encoder, write
from tests.models import save
from tuner.export.formats import FORMATS
from tuner.recommendation.checked_document import read_whole

FIRST_VERSION = Path(__file__).parents[1] / "recommendation" / "profile_v1.json"


def document(shell: Shell, **facts: Any) -> Path:
    facts = {"policy": "nearest_opt", "alternatives": {"profile_zero": THREE[2:]}, **facts}
    return write(shell.folder / "profile.json", as_json(encoder(), THREE, **facts))


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_is_printed_to_stdout(shell: Shell, to: str) -> None:
    ran = shell.tuner("export", document(shell), "--to", to)
    assert (ran.exit_code, ran.out != "") == (0, True), ran.err


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_is_written_whole_to_a_file(shell: Shell, to: str) -> None:
    printed = shell.tuner("export", document(shell), "--to", to)
    written = shell.tuner("export", document(shell), "--to", to, "--to-file", "out")
    assert (written.exit_code, written.out) == (0, "")
    assert (shell.folder / "out").read_text() == printed.out


def test_json_is_the_argument_vector_of_the_shell_line(shell: Shell) -> None:
    line = shell.tuner("export", document(shell), "--to", "trtexec")
    vector = shell.tuner("export", document(shell), "--to", "trtexec", "--json")
    assert json.loads(vector.out) == shlex.split(line.out)


def test_notes_go_to_stderr_and_quiet_leaves_them_out(shell: Shell) -> None:
    loud = shell.tuner("export", document(shell), "--to", "onnxruntime")
    quiet = shell.tuner("export", document(shell), "--to", "onnxruntime", "--quiet")
    assert "note: ONNX Runtime's TensorRT provider runs profile 0 only" in loud.err
    assert (quiet.out, quiet.err) == (loud.out, "")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "no JSON"),
        ('{"profiles": [', "no JSON"),
        ('{"a": 1}', "no document of tuner"),
        ("[]", "no JSON object"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_line_and_exit_1(shell: Shell, content: str, word: str) -> None:
    (shell.folder / "profile.json").write_text(content)
    ran = shell.tuner("export", "profile.json", "--to", "trtexec", "--to-file", "out")
    assert_one_line(ran, "profile.json", word)
    assert shell.files == {"profile.json"}


def test_a_cut_document_is_one_line_wherever_it_is_cut(shell: Shell) -> None:
    whole = document(shell).read_text()
    for end in range(0, len(whole), 97):
        (shell.folder / "profile.json").write_text(whole[:end])
        assert_one_line(shell.tuner("export", "profile.json", "--to", "csv"), "no JSON")


@pytest.mark.parametrize(
    ("options", "words", "code"),
    [
        (("--to", "tensorrt"), ("did you mean 'torch-tensorrt'", "polygraphy-script"), 2),
        ((), ("--to is missing", "trtexec"), 2),
        (("--to", "trtexec", "--into", "config.pbtxt"), ("--into", "--to triton"), 2),
        (("--to", "trtexec", "--best-single", "--alternative", "sticky"), ("give one of them",), 2),
        (("--to", "csv", "--to-file", "no/such/folder/out"), ("the folder", "does not exist"), 1),
        (("--to", "triton", "--into", "absent.pbtxt"), ("absent.pbtxt", "cannot be read"), 1),
        (("--to", "triton", "--max-batch-size", "128"), ("128", "64"), 1),
        (("--to", "trtexec", "--for-version", "8.6"), ("3 profiles", "--best-single"), 1),
        (("--to", "trtexec", "--override", "absent.json"), ("absent.json", "cannot be read"), 1),
        (("--to", "trtexec", "--model", "absent.onnx"), ("absent.onnx", "no such file"), 1),
    ],
)
def test_what_cannot_be_done_is_one_line(
    shell: Shell, options: tuple[str, ...], words: tuple[str, ...], code: int
) -> None:
    ran = shell.tuner("export", document(shell), *options)
    assert_one_line(ran, *words, exit_code=code)
    assert shell.files == {"profile.json"}


def test_an_existing_configuration_is_merged_in_place(shell: Shell) -> None:
    config = shell.folder / "config.pbtxt"
    config.write_text('# ours\nname: "ranker"\nmax_batch_size: 2\n')
    assert shell.tuner("export", document(shell), "--to", "triton", "--into", "config.pbtxt").exit_code == 0
    merged = triton_config(config.read_text())
    assert (merged.name, merged.max_batch_size, len(merged.instance_group[0].profile)) == ("ranker", 64, 3)
    assert config.read_text().startswith("# ours\n")


def test_a_configuration_that_cannot_be_read_is_left_as_it_is(shell: Shell) -> None:
    config = shell.folder / "config.pbtxt"
    config.write_text("input {\n")
    ran = shell.tuner("export", document(shell), "--to", "triton", "--into", "config.pbtxt")
    assert_one_line(ran, "config.pbtxt", "no protobuf text at line 2")
    assert config.read_text() == "input {\n"


def test_a_document_without_a_model_takes_one(shell: Shell) -> None:
    write(shell.folder / "profile.json", as_json(None, THREE[:1], tensorrt=None))
    save("tiny_encoder", shell.folder / "encoder.onnx")
    assert_one_line(shell.tuner("export", "profile.json", "--to", "trtexec"), "--model")
    ran = shell.tuner("export", "profile.json", "--to", "trtexec", "--model", "encoder.onnx")
    assert ran.out.startswith("--minShapes=input_ids:1x16,attention_mask:1x16 ")


def test_recommend_exports_what_it_found(shell: Shell) -> None:
    with (shell.folder / "sizes.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("batch", "seq", "count"), (1, 32, 500), (8, 128, 100), (64, 512, 20)])
    given = ("recommend", "--logs", "sizes.csv", "--measurements", ENCODER, "--quiet")
    ran = shell.tuner(*given, "--to", "polygraphy-script", "--to-file", "profiles.py")
    assert (ran.exit_code, ran.out) == (0, "")
    again = shell.tuner("export", "profile.json", "--to", "polygraphy-script")
    assert (shell.folder / "profiles.py").read_text() == again.out
    assert_one_line(shell.tuner(*given, "--to", "tensorrt"), "--to is 'tensorrt'", exit_code=2)
    assert_one_line(shell.tuner(*given, "--to", "csv", "--json"), "--to-file", exit_code=2)


def test_a_document_of_the_first_version_is_exported_and_reported(shell: Shell) -> None:
    assert shell.tuner("export", FIRST_VERSION, "--to", "csv").out.count("\n") > 2
    assert shell.tuner("report", FIRST_VERSION, "--report", "page.html").exit_code == 0


def test_a_build_refuses_shapes_outside_of_the_range_before_it_starts(shell: Shell) -> None:
    save("tiny_encoder", shell.folder / "encoder.onnx")
    write(shell.folder / "profile.json", as_json(None, THREE[:1], tensorrt=None))
    write(shell.folder / "change.json", {"input_ids": {"opt": [4, 99]}})
    ran = shell.tuner("build", "profile.json", "--model", "encoder.onnx", "--override", "change.json")
    assert_one_line(ran, "input_ids", "99", "64")
    assert shell.files == {"profile.json", "encoder.onnx", "change.json"}


def test_schema_prints_the_schema_that_documents_follow(shell: Shell) -> None:
    printed = json.loads(shell.tuner("schema").out)
    jsonschema.Draft202012Validator.check_schema(printed)
    path = write(shell.folder / "profile.json", as_json(encoder(), THREE))
    jsonschema.validate(read_whole(path), printed)


def test_a_shell_line_survives_a_real_shell(shell: Shell) -> None:
    line = shell.tuner("export", document(shell), "--to", "trtexec").out
    show = f"{shlex.quote(sys.executable)} -c 'import sys, json; print(json.dumps(sys.argv[1:]))' {line}"
    seen = subprocess.run(["sh", "-c", show], capture_output=True, text=True, check=True).stdout
    assert json.loads(seen) == json.loads(
        shell.tuner("export", document(shell), "--to", "trtexec", "--json").out
    )
