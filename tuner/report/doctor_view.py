"""What `tuner doctor` found, as a table, what can be done here, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tuner.measurements.diagnosis import Finding, State, abilities
from tuner.report.look import BAD, DIM, DOUBT, GOOD, plain_table

_STYLES = {State.FINE: GOOD, State.MISSING: DIM, State.BROKEN: BAD}


def doctor_view(findings: Sequence[Finding]) -> RenderableType:
    table = plain_table("This machine", ("part", "state", "what was found"), ())
    for finding in findings:
        table.add_row(finding.name, Text(finding.state.value, style=_STYLES[finding.state]), finding.detail)
    parts: list[RenderableType] = [table]
    for ability, can in abilities(list(findings)).items():
        parts.append(Text(f"{'can' if can else 'cannot'} {ability}", style=GOOD if can else DIM))
    for finding in findings:
        if finding.advice:
            style = BAD if finding.state is State.BROKEN else DOUBT
            parts.append(Text(f"{finding.name}: {finding.advice}", style=style))
    return Group(*parts)
