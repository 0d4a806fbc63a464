"""Contents and pages of written documents."""

from __future__ import annotations

from tests.report.documents import Written
from tuner.measurements.store import open_store
from tuner.report.contents import Chart, Contents, Section, Table
from tuner.report.document_file import read_document
from tuner.report.known_curves import KnownCurves, curves_in_store
from tuner.report.report import report_contents


def curves_of(written: Written) -> KnownCurves:
    with open_store(written.store) as store:
        found = curves_in_store(store, written.document)
    assert found is not None
    return found


def contents_of(written: Written) -> Contents:
    return report_contents(read_document(written.path), curves_of(written))


def section(contents: Contents, name: str) -> Section:
    return next(section for section in contents.sections if section.name == name)


def charts(section: Section) -> list[Chart]:
    return [part for part in section.parts if isinstance(part, Chart)]


def tables(contents: Contents) -> list[Table]:
    parts = [part for section in contents.sections for part in section.parts]
    return [part.table if isinstance(part, Chart) else part for part in parts]


def column(table: Table, heading: str) -> list[object]:
    place = [c.heading for c in table.columns].index(heading)
    return [row[place] for row in table.rows]
