"""The page as text: self-contained, escaped, small enough."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.report import documents
from tests.report.documents import EVIL, EVIL_AXES, Written
from tests.report.reading import contents_of
from tuner.report.page import page_html

MOST_BYTES = 6_000_000


class Elements(HTMLParser):
    """Every tag with its attributes, and the text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.texts.append(data)


def elements(html: str) -> Elements:
    found = Elements()
    found.feed(html)
    return found


def test_the_page_names_no_address_to_load_from(sample: Written) -> None:
    for tag, attributes in elements(page_html(contents_of(sample))).tags:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name) or ""
            assert value == "" or value.startswith(("#", "data:")), (tag, value)


def test_a_policy_forbids_all_scripts_but_the_pages_own(sample: Written) -> None:
    found = elements(page_html(contents_of(sample)))
    policy = next(a["content"] for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert "default-src 'none'" in policy
    assert len(re.findall(r"'sha256-[^']+'", policy)) == 2
    assert "unsafe-inline'" not in policy.split("style-src")[0]


def test_texts_from_logs_and_models_are_escaped(evil: Written) -> None:
    html = page_html(contents_of(evil))
    found = elements(html)
    assert [t for t, _ in found.tags].count("script") == 4
    assert "img" not in [t for t, _ in found.tags]
    assert "onerror" not in {name for _, attributes in found.tags for name in attributes}
    assert any(EVIL in text for text in found.texts)
    assert html.count("<script>alert") == 0


def test_the_embedded_data_is_that_of_the_tables(evil: Written) -> None:
    html = page_html(contents_of(evil))
    embedded = re.search(r'<script type="application/json" id="tables">(.*?)</script>', html, flags=re.DOTALL)
    assert embedded is not None
    tables = json.loads(embedded.group(1))
    assert tables[0]["columns"][1]["heading"] == f"min ({', '.join(EVIL_AXES)})"
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.csv", table["file"]) for table in tables)


def test_five_thousand_sizes_stay_below_six_megabytes(tmp_path_factory: pytest.TempPathFactory) -> None:
    written = documents.many_sizes(tmp_path_factory.mktemp("many"))
    assert written.document["traffic"]["distinct_sizes"] == 5_000
    assert len(page_html(contents_of(written)).encode()) < MOST_BYTES


def test_the_same_contents_give_the_same_page(evil: Written) -> None:
    assert page_html(contents_of(evil)) == page_html(contents_of(evil))


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    """An interpreter that sees no site-packages stands in for an install without the extra."""
    code = (
        "from tuner.errors import TunerError\n"
        "from tuner.report.page import check_installed\n"
        "try: check_installed()\n"
        "except TunerError as error: print(error)\n"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=tmp_path)
    assert "trt-profile-tuner[report]" in done.stdout
