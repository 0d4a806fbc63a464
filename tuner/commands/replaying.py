"""What `replay --batcher` does: single requests on a document's set, behind a batcher."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tuner.commands import options

if TYPE_CHECKING:
    from tuner.measurements.source import ProfileSource
    from tuner.recommendation.batching import BatchingSettings
    from tuner.recommendation.scored import RecommendSettings
    from tuner.traffic.traffic import Traffic


def replay_batched(
    given: dict[str, Any],
    traffic: Traffic,
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
) -> None:
    """Print what clients of the document's set would see."""
    from tuner.commands.batching_options import with_stored_rates
    from tuner.commands.console import results
    from tuner.commands.scoring import existing_store
    from tuner.recommendation.batching_section import server_section
    from tuner.recommendation.deployed import read_deployed
    from tuner.recommendation.replayed_requests import replay_requests
    from tuner.report.batching_view import charged_lines, served_table
    from tuner.traffic.reading_arrivals import read_arrivals

    file_alone = given["measurements"] is not None and "://" not in given["measurements"]
    if not file_alone:
        with existing_store(given["measurements"] or given["store"]) as store:
            settings = (settings[0], with_stored_rates(settings[1], given, store, source))
    arrivals = read_arrivals(options.log_settings(given), source.model)
    deployed = read_deployed(given["profile"], traffic.axes)
    found, rate_rps = replay_requests(deployed, (traffic, arrivals), source, settings)
    if given["as_json"]:
        print(json.dumps(server_section(found), indent=2))
    elif not given["quiet"]:
        results().print(served_table([found], found, rate_rps, settings[1].limit))
        for line in charged_lines(found.replay):
            print(line)
        if found.replay.is_overloaded:
            print("these requests are more than the server carries: its queue grows as long as the log lasts")
