"""Flags of trtexec: exact, by release, and through a real shell."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.export.written_documents import THREE, document_of, encoder, one
from tuner.errors import TunerError, UsageError
from tuner.export.exported import ExportOptions
from tuner.export.trtexec import trtexec
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec

N = axis_dimension("n")


def test_one_profile_is_three_flags() -> None:
    exported = trtexec(document_of(encoder(), THREE[:1]), ExportOptions())
    assert exported.text == (
        "--minShapes=input_ids:1x16,attention_mask:1x16 --optShapes=input_ids:4x32,attention_mask:4x32 "
        "--maxShapes=input_ids:4x64,attention_mask:4x64\n"
    )


def test_each_profile_stands_directly_before_its_flags() -> None:
    exported = trtexec(document_of(encoder(), THREE), ExportOptions(as_json=True))
    vector = json.loads(exported.text)
    assert [flag.partition("=")[0] for flag in vector] == [
        "--profile", "--minShapes", "--optShapes", "--maxShapes",
    ] * 3  # fmt: skip
    assert [flag for flag in vector if "profile" in flag] == ["--profile=0", "--profile=1", "--profile=2"]
    assert exported.notes == ()


@pytest.mark.parametrize(
    ("tensorrt", "asked"), [("8.6.1", None), ("10.3", "8.6"), ("9.2", None), (None, "8.6.1")]
)
def test_several_profiles_are_refused_before_release_10(tensorrt: str | None, asked: str | None) -> None:
    document = document_of(encoder(), THREE, tensorrt=tensorrt, alternatives={"profile_zero": (THREE[2],)})
    with pytest.raises(TunerError, match=r"has 3 profiles, but trtexec before .*--best-single"):
        trtexec(document, ExportOptions(version=asked))
    single = trtexec(document, ExportOptions(version=asked, best_single=True))
    assert single.text.startswith(
        "--minShapes=input_ids:1x16,attention_mask:1x16 --optShapes=input_ids:64x512"
    )
    assert "in place of the document's 3" in single.notes[0]


def test_an_unknown_release_is_said_where_it_matters() -> None:
    document = document_of(encoder(), THREE, tensorrt=None)
    assert "10.0 or later" in trtexec(document, ExportOptions()).notes[0]
    assert trtexec(document_of(encoder(), THREE[:1], tensorrt=None), ExportOptions()).notes == ()


def test_tensorrt_rtx_knows_several_profiles() -> None:
    document = document_of(encoder(), THREE, tensorrt="1.7.1", flavour="tensorrt_rtx")
    assert "--profile=2" in trtexec(document, ExportOptions()).text


def test_a_set_without_a_best_single_one_says_so() -> None:
    with pytest.raises(TunerError, match=r"no best single one .*recommend with --profiles 1"):
        trtexec(document_of(encoder(), THREE), ExportOptions(best_single=True))


def test_an_alternative_is_exported_by_its_routing() -> None:
    document = document_of(encoder(), THREE, alternatives={"nearest_opt": THREE[:2]})
    assert "--profile=1" in trtexec(document, ExportOptions(alternative="nearest_opt")).text
    with pytest.raises(TunerError, match="no best set under the routing sticky; it has nearest_opt"):
        trtexec(document, ExportOptions(alternative="sticky"))


def test_a_version_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--for-version 'new' cannot be read"):
        trtexec(document_of(encoder(), THREE), ExportOptions(version="new"))


@pytest.mark.parametrize(
    "name", ["input/image:0", "onnx::Conv_1", "with space", "$HOME", "`id`", 'q"q', "a;b"]
)
def test_a_shell_hands_the_quotes_on_to_trtexec(name: str) -> None:
    model = Model("m", (TensorSpec(name, "float32", (N, 8)),))
    document = document_of(model, [one((1,), (2,), (8,), ("n",))])
    line = trtexec(document, ExportOptions()).text
    seen = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert seen == [f"--minShapes='{name}':1x8", f"--optShapes='{name}':2x8", f"--maxShapes='{name}':8x8"]


@pytest.mark.parametrize("name", ["it's", "a,b"])
def test_a_name_that_no_quoting_carries_is_refused(name: str) -> None:
    model = Model("m", (TensorSpec(name, "float32", (N, 8)),))
    with pytest.raises(TunerError, match="trtexec cannot be given the input"):
        trtexec(document_of(model, [one((1,), (2,), (8,), ("n",))]), ExportOptions())


def test_a_star_is_a_wildcard_from_release_10_on() -> None:
    document = document_of(Model("m", (TensorSpec("a*", "float32", (N,)),)), [one((1,), (2,), (8,), ("n",))])
    vector = trtexec(document, ExportOptions(version="8.6", as_json=True)).text
    assert "--minShapes='a*':1" in vector
    with pytest.raises(TunerError, match="trtexec cannot be given the input"):
        trtexec(document, ExportOptions(version="10.0"))
