"""`tuner report`: a document as a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.commands import options
from tuner.errors import UsageError

if TYPE_CHECKING:
    from tuner.report.contents import Json
    from tuner.report.known_curves import KnownCurves

FORMATS = ("html", "md")

Document = Annotated[str, typer.Argument(help="The document that tuner recommend wrote.")]
# The key is `report`, as for `recommend`: a key `out` in tuner.toml would name the document.
Report = Annotated[
    str,
    options.option(
        "--report", "Where the report goes.", short=("--out",), rich_help_panel="Output", metavar="FILE"
    ),
]
Format = Annotated[
    str | None,
    options.option("--format", "html or md; default by the file's ending.", rich_help_panel="Output"),
]


def report(
    document: Document,
    report: Report = "report.html",
    format: Format = None,
    store: options.StoreUrl = options.DEFAULT_STORE,
    quiet: options.Quiet = False,
) -> None:
    """Write one self-contained page from a document and the store: open it anywhere, offline.

    Example: tuner report profile.json --out report.html
    """
    from tuner.report.document_file import read_document

    form = format_of(format, report)
    found = read_document(document)
    check_report(report, form)
    write_report(found, store, report, form)
    if not quiet:
        print(f"written: {report}")


def format_of(asked: str | None, out: str) -> str:
    """`html` or `md`; without a wish by the ending of the file."""
    if asked is None:
        return "md" if out.lower().endswith((".md", ".markdown")) else "html"
    if asked not in FORMATS:
        raise UsageError(f"--format is '{asked}'; accepted are {' and '.join(FORMATS)}")
    return asked


def check_report(out: str, form: str) -> None:
    """Raise TunerError for a report that could not be written, before any work is done for it."""
    from tuner.recommendation.output_file import check_writable
    from tuner.report.page import check_installed

    check_writable(out)
    if form == "html":
        check_installed()


def write_report(document: Json, store_url: str, out: str, form: str = "html") -> None:
    """Put the report in place at once, or not at all."""
    from tuner.recommendation.output_file import replace_file
    from tuner.report.markdown import report_markdown
    from tuner.report.page import page_html
    from tuner.report.report import report_contents

    contents = report_contents(document, _curves(store_url, document))
    replace_file(out, page_html(contents) if form == "html" else report_markdown(contents))


def _curves(store_url: str, document: Any) -> KnownCurves | None:
    """The document's curves; a store that is not there yet is not made for a report."""
    from pathlib import Path

    from tuner.measurements.store import open_store
    from tuner.report.known_curves import curves_in_store

    path = store_url.removeprefix("sqlite:///")
    if path != store_url and not Path(path).exists():
        return None
    with open_store(store_url) as store:
        return curves_in_store(store, document)
