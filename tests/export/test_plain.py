"""Plain tables: exact, with axes where no shapes are known."""

from __future__ import annotations

from tests.export.written_documents import THREE, document_of, encoder, one
from tuner.export.exported import ExportOptions
from tuner.export.plain import csv_table, markdown_table
from tuner.formula import axis_dimension
from tuner.model import Model, TensorSpec


def test_csv_has_a_row_an_input_and_profile() -> None:
    assert csv_table(document_of(encoder(), THREE[:1]), ExportOptions()).text == (
        "profile,name,kind,min,opt,max\n0,input_ids,shape,1x16,4x32,4x64\n0,attention_mask,shape,1x16,4x32,4x64\n"
    )


def test_without_a_model_the_rows_are_axes() -> None:
    document = document_of(None, THREE[:1], tensorrt=None)
    assert csv_table(document, ExportOptions()).text.splitlines()[1:] == [
        "0,batch,axis,1,4,4",
        "0,seq,axis,16,32,64",
    ]


def test_a_shape_tensor_has_a_row_of_values() -> None:
    model = Model("m", (TensorSpec("target", "int64", (1,), (axis_dimension("target[0]"),)),))
    document = document_of(model, [one((4,), (8,), (16,), ("target[0]",))])
    assert csv_table(document, ExportOptions()).text.splitlines()[1:] == [
        "0,target,shape,1,1,1",
        "0,target,values,4,8,16",
    ]


def test_markdown_escapes_what_would_break_the_table() -> None:
    model = Model("m", (TensorSpec("a|b\\c", "float32", (axis_dimension("n"),)),))
    document = document_of(model, [one((1,), (2,), (8,), ("n",))])
    assert markdown_table(document, ExportOptions()).text.splitlines()[2] == (
        "| 0 | a\\|b\\\\c | shape | 1 | 2 | 8 |"
    )
