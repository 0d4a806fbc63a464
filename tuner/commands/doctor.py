"""`tuner doctor`: what this machine can do, and what is missing."""

from __future__ import annotations

import typer

from tuner.commands import engine_options, options


def doctor(
    store: options.StoreUrl = options.DEFAULT_STORE,
    device: engine_options.Device = 0,
    as_json: options.Json = False,
) -> None:
    """Say what is installed, which GPU and TensorRT there are, and what is missing.

    Exit code 0, or 1 where something is there and does not work.

    Example: tuner doctor
    """
    from tuner.measurements.diagnosis import State, abilities, diagnose

    findings = diagnose(store, device)
    if as_json:
        import dataclasses
        import json

        told = {
            "findings": [dataclasses.asdict(finding) for finding in findings],
            "abilities": abilities(findings),
        }
        print(json.dumps(told, indent=2))
    else:
        from tuner.commands.console import results
        from tuner.report.doctor_view import doctor_view

        results().print(doctor_view(findings))
    if any(finding.state is State.BROKEN for finding in findings):
        raise typer.Exit(1)
