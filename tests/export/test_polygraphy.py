"""Polygraphy: its own parser and its own script loader take the exports."""

from __future__ import annotations

import pytest

from tests.export.consumer_parsers import polygraphy_script_profiles
from tests.export.written_documents import THREE, document_of, encoder, one
from tuner.errors import TunerError
from tuner.export.export_set import NO_RANGES
from tuner.export.exported import ExportOptions
from tuner.export.formats import FORMATS
from tuner.export.polygraphy import polygraphy_arguments, polygraphy_script
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec


def test_each_option_is_given_once_for_each_profile() -> None:
    text = polygraphy_arguments(document_of(encoder(), THREE[:2]), ExportOptions()).text
    assert text.count("--trt-min-shapes") == text.count("--trt-max-shapes") == 2
    assert text.startswith("--trt-min-shapes 'input_ids:[1,16]' 'attention_mask:[1,16]' --trt-opt-shapes")


def test_a_name_that_reads_as_an_option_is_refused_on_the_command_line() -> None:
    model = Model("m", (TensorSpec("-x", "float32", (axis_dimension("n"),)),))
    document = document_of(model, [one((1,), (2,), (8,), ("n",))])
    with pytest.raises(TunerError, match="takes the input '-x' for an option"):
        polygraphy_arguments(document, ExportOptions())
    assert polygraphy_script_profiles(polygraphy_script(document, ExportOptions()).text) == [
        {"-x": ((1,), (2,), (8,))}
    ]


def test_a_model_without_an_open_dimension_gets_no_flags_from_any_export() -> None:
    model = Model("m", (TensorSpec("x", "float32", (1, 4)),))
    document = document_of(model, [one((), (), (), ())])
    for to, empty in (("polygraphy", "\n"), ("trtexec", "\n"), ("onnxruntime", "{}\n")):
        exported = FORMATS[to](document, ExportOptions())
        assert (exported.text, exported.notes) == (empty, (NO_RANGES,))
