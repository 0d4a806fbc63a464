"""The options of a batcher between requests and engine, and of the server that it stands in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from tuner.commands.options import option
from tuner.errors import UsageError

if TYPE_CHECKING:
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.recommendation.batching import BatchingSettings
    from tuner.replay.response import ResponseLimit
    from tuner.replay.slo import Slo

_batching = partial(option, rich_help_panel="Batching")

Batcher = Annotated[
    str,
    _batching("--batcher", "Between requests and engine: none, fifo or triton.", metavar="NAME"),
]
Load = Annotated[float, _batching("--load", "Factor on the rate of the logged requests.", metavar="FACTOR")]
Contexts = Annotated[int, _batching("--contexts", "Execution contexts (instances) of each model.", min=1)]
Concurrency = Annotated[
    str | None,
    _batching(
        "--concurrency",
        "Total rate of the GPU with 1, 2, ... executions, like 1,1.3; else the stored one, or shared evenly.",
        metavar="RATES",
    ),
]
UnlikeShapes = Annotated[
    str,
    _batching(
        "--unlike-shapes", "Requests of unlike shape in a batch: separate, pad or ragged.", metavar="HOW"
    ),
]
MaxBatch = Annotated[int | None, _batching("--max-batch", "Largest batch that is tried.", min=1)]
BatcherTrials = Annotated[
    int, _batching("--batcher-trials", "Settings of the batcher that are tried.", min=1)
]
Latency = Annotated[
    str | None,
    _batching("--latency", "Column of observed response times in ms, to check the replay.", metavar="COLUMN"),
]

DEFAULT_TRIALS = 120


def batching_settings(given: dict[str, Any]) -> BatchingSettings | None:
    """The options of a batcher as a record; None for `--batcher none`."""
    from tuner.recommendation.batching import BatchingSettings
    from tuner.replay.batcher import BATCHERS, UNLIKE_SHAPES
    from tuner.replay.slo import parse_slo
    from tuner.search.fixed_point import BATCHING_OBJECTIVES

    kind, unlike = given["batcher"], given["unlike_shapes"]
    slos = [parse_slo(text) for text in given["slo"] or ()]
    for flag, value, accepted in (
        ("--batcher", kind, BATCHERS),
        ("--unlike-shapes", unlike, UNLIKE_SHAPES),
    ):
        if value not in accepted:
            raise UsageError(f"{flag} is '{value}'; accepted are {', '.join(accepted)}")
    if kind == "none":
        _refuse_response(given["objective"], slos)
        return None
    objective = given["objective"] if given["objective"] in BATCHING_OBJECTIVES else "response_p99"
    return BatchingSettings(
        kind=kind,
        objective=objective,
        limit=_limit(slos),
        load=given["load"],
        contexts=given["contexts"],
        concurrency=_concurrency(given["concurrency"]),
        unlike_shapes=unlike,
        max_batch=given["max_batch"],
        trials=given["batcher_trials"],
    )


def with_deployed(
    settings: BatchingSettings, given: dict[str, Any], axes: tuple[str, ...]
) -> BatchingSettings:
    """The settings with the deployed document's set and batcher, whose response times the log holds."""
    import dataclasses

    from tuner.commands.deployed_options import read_deployed_file
    from tuner.replay.batcher import Batcher

    deployed = read_deployed_file(given, axes)
    if deployed is None:
        return settings
    written, batcher = deployed.document.batcher, None
    if written is not None:
        batcher = Batcher(
            max_batch=written.max_batch,
            preferred_batch_size=written.preferred_batch_size,
            max_queue_delay_microseconds=written.max_queue_delay_microseconds,
            unlike_shapes=settings.unlike_shapes,
        )
    return dataclasses.replace(settings, deployed=deployed.profiles, deployed_batcher=batcher)


def with_stored_rates(
    settings: BatchingSettings, given: dict[str, Any], store: Store, source: ProfileSource
) -> BatchingSettings:
    """The settings with how contexts share the GPU as it was measured, where no option says otherwise."""
    import dataclasses

    from tuner.measurements.sharing import stored_rates
    from tuner.replay.concurrency import Concurrency

    if given["concurrency"] is not None:
        return settings
    rates = stored_rates(store, source.model.content_hash, source.facts)
    if rates is None:
        return settings
    return dataclasses.replace(settings, concurrency=Concurrency(rates, is_measured=True))


def _refuse_response(objective: str, slos: list[Slo]) -> None:
    from tuner.search.fixed_point import BATCHING_OBJECTIVES

    named = [slo.metric for slo in slos if slo.metric.startswith("response_")]
    named += [objective] if objective in BATCHING_OBJECTIVES else []
    if named:
        raise UsageError(
            f"{named[0]} is about requests that wait, so it needs a batcher: add --batcher triton or fifo"
        )


def _limit(slos: list[Slo]) -> ResponseLimit | None:
    from tuner.replay.response import ResponseLimit

    limits = [slo for slo in slos if slo.metric.startswith("response_")]
    if len(limits) > 1:
        raise UsageError(f"--slo limits response times {len(limits)} times; one such limit is accepted")
    if not limits:
        return None
    digits = limits[0].metric.removeprefix("response_p")
    return ResponseLimit(float(digits) if len(digits) < 3 else float(digits) / 10, limits[0].limit)


def _concurrency(text: str | None) -> Any:
    from tuner.replay.concurrency import SHARED, Concurrency

    if text is None:
        return SHARED
    try:
        rates = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(
            f"--concurrency '{text}' cannot be read; write total rates like --concurrency 1,1.3,1.4"
        ) from error
    return Concurrency(rates, is_measured=True)
