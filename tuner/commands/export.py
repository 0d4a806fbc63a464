"""`tuner export`: a document for the tools that build and serve engines."""

from __future__ import annotations

from typing import Annotated

import typer

from tuner.commands import export_options as options


def export(
    document: Annotated[str, typer.Argument(help="The document that tuner recommend wrote.")],
    to: options.To = None,
    to_file: options.ToFile = None,
    into: options.Into = None,
    model: options.ModelFile = None,
    override: options.Override = None,
    for_version: options.ForVersion = None,
    best_single: options.BestSingle = False,
    alternative: options.Alternative = None,
    map_: options.Map = None,
    max_batch_size: options.MaxBatchSize = None,
    max_queue_delay_us: options.QueueDelay = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the profiles in the form that another tool takes.

    With --to triton, --to-file FOLDER/ (a final slash) writes a model repository: a config.pbtxt for each
    model, and client_routing.json where each profile is a model of its own.

    Example: tuner export profile.json --to trtexec
    """
    given = locals()
    options.check_export(given)
    options.write_export(given)
