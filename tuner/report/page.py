"""Writes contents as one HTML page that needs nothing beside itself: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec

import tuner
from tuner.errors import TunerError
from tuner.report.contents import Chart, Contents, Json, Table

STATIC_ROWS = 60
"""Rows of a table that are in the page before its script runs; the script shows more on demand."""
OPEN_ROWS = 10
"""A table with no more rows stands open below its chart, on paper too."""


def page_html(contents: Contents) -> str:
    """The page as text. Everything that comes from logs, models and documents is escaped.

    Raises TunerError where the extra `report` is not installed.
    """
    check_installed()
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    tables = list(_tables(contents))
    charts = [part for section in contents.sections for part in section.parts if isinstance(part, Chart)]
    scripts = [get_plotlyjs(), _shipped("page.js")]
    return environment.from_string(_shipped("page.html.jinja")).render(
        contents=contents,
        version=tuner.__version__,
        policy=_policy(scripts),
        style=_shipped("page.css"),
        scripts=scripts,
        charts=[{"data": list(chart.data), "layout": dict(chart.layout)} for chart in charts],
        chart_places={id(chart): place for place, chart in enumerate(charts)},
        tables=[_table_json(one) for one in tables],
        table_places={id(one): place for place, one in enumerate(tables)},
        static_rows=STATIC_ROWS,
        open_rows=OPEN_ROWS,
        is_chart=lambda part: isinstance(part, Chart),
        identity=id,
    )


def check_installed() -> None:
    """Raise TunerError where a package that pages are made with is missing."""
    for package in ("jinja2", "plotly"):
        if find_spec(package) is None:
            raise TunerError(
                f"the HTML report needs the package {package}, which is not installed; run "
                "pip install 'trt-profile-tuner[report]', or write Markdown: --report report.md"
            )


def _shipped(name: str) -> str:
    return files("tuner.report").joinpath(name).read_text(encoding="utf-8")


def _tables(contents: Contents) -> Iterator[Table]:
    for section in contents.sections:
        for part in section.parts:
            yield part.table if isinstance(part, Chart) else part


def _table_json(table: Table) -> Json:
    return {
        "file": re.sub(r"[^A-Za-z0-9_-]+", "_", table.name).strip("_") + ".csv",
        "columns": [{"heading": c.heading, "kind": c.kind, "digits": c.digits} for c in table.columns],
        "rows": [list(row) for row in table.rows],
    }


def _policy(scripts: list[str]) -> str:
    """A content security policy: our own scripts by their hashes, and no address at all."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    rules = (
        *("default-src 'none'", f"script-src {allowed}", "style-src 'unsafe-inline'", "img-src data: blob:"),
        *("base-uri 'none'", "form-action 'none'"),
    )
    return "; ".join(rules)
