"""Writes contents as Markdown for pull requests and chat: sentences, and tables cut to what is read there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuner.report.contents import Chart, Contents, Section, Table

MOST_ROWS = 12
"""Rows of a table that are written; the page and its CSV files have all."""
# What Markdown would read as markup, and a pipe, which would end a cell.
_MARKUP = re.compile(r"([\\`*_{}\[\]#|~])")


def report_markdown(contents: Contents) -> str:
    """The report as GitHub-flavoured Markdown; everything from logs and documents is escaped."""
    return "\n".join(_lines(contents)).rstrip() + "\n"


def _lines(contents: Contents) -> Iterator[str]:
    yield f"# {escaped(contents.title)}"
    yield ""
    yield f"**{escaped(contents.decision)}**"
    yield ""
    yield escaped(contents.reason)
    yield ""
    yield from (f"- {escaped(name)}: {escaped(value)}" for name, value in contents.facts)
    if contents.caveats:
        yield ""
        yield "Caveats:"
        yield ""
        yield from (f"- **{escaped(kind)}**: {escaped(text)}" for kind, text in contents.caveats)
    for section in contents.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield ""
    yield f"## {escaped(section.title)}"
    for sentence in section.sentences:
        yield ""
        yield escaped(sentence)
    written: set[str] = set()
    for part in section.parts:
        if isinstance(part, Chart):
            yield ""
            yield f"**{escaped(part.title)}**"
        numbers = part.table if isinstance(part, Chart) else part
        if numbers.name not in written:
            written.add(numbers.name)
            yield from _table(numbers)


def _table(table: Table) -> Iterator[str]:
    rows = table.texts()
    yield ""
    yield f"{escaped(table.title)}:"
    yield ""
    yield _row([column.heading or " " for column in table.columns])
    yield "|" + "|".join("---" if column.kind == "text" else "---:" for column in table.columns) + "|"
    yield from (_row(row) for row in rows[:MOST_ROWS])
    if len(rows) > MOST_ROWS:
        yield ""
        yield f"({len(rows) - MOST_ROWS} more rows are in the HTML report)"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def escaped(text: str) -> str:
    """One line of text that shows as it is."""
    safe = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKUP.sub(r"\\\1", safe)
