"""The Markdown report shows what it was given and nothing else."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.report.documents import Written
from tests.report.reading import contents_of
from tuner.report.markdown import MOST_ROWS, escaped, report_markdown

_UNESCAPED = re.compile(r"[<>]|(?<!\\)(?:\\\\)*[`*_\[\]|]")


@given(st.text())
def test_no_text_is_read_as_markup(text: str) -> None:
    shown = escaped(text)
    assert not _UNESCAPED.search(shown)
    assert "\n" not in shown


def test_the_decision_comes_first_and_every_section_has_its_heading(sample: Written) -> None:
    contents = contents_of(sample)
    text = report_markdown(contents)
    assert text.index("change: ") < text.index("## ")
    for section in contents.sections:
        assert f"## {section.title}" in text


def test_every_table_has_rows_as_wide_as_its_heading(evil: Written) -> None:
    widths: dict[int, set[int]] = {}
    block = 0
    for line in report_markdown(contents_of(evil)).splitlines():
        if line.startswith("|"):
            widths.setdefault(block, set()).add(len(re.findall(r"(?<!\\)\|", line)))
        else:
            block += 1
    assert widths
    assert all(len(found) == 1 for found in widths.values())


def test_long_tables_are_cut_and_say_so(sample: Written) -> None:
    text = report_markdown(contents_of(sample))
    assert "more rows are in the HTML report" in text
    assert len(text.splitlines()) < 40 * MOST_ROWS


def test_an_axis_named_like_a_script_is_text(evil: Written) -> None:
    text = report_markdown(contents_of(evil))
    assert "<script" not in text
    assert "script" in text
