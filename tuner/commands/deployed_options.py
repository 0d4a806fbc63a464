"""The options about the deployed document, and the night that they describe."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tuner.commands.options import option, share

if TYPE_CHECKING:
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.recommendation.check import CheckLimits
    from tuner.recommendation.deployed import Deployed
    from tuner.recommendation.overnight import Night

_deployed = partial(option, rich_help_panel="Deployed")

DeployedFile = Annotated[
    str | None,
    _deployed("--deployed", "The document in production: what is kept or changed.", metavar="FILE"),
]
MinGain = Annotated[str, _deployed("--min-gain", "What a change has to save, like 2%.", metavar="SHARE")]
MaxShift = Annotated[
    str, _deployed("--max-shift", "Share of the traffic that may move to other sizes.", metavar="SHARE")
]
MaxUncovered = Annotated[
    str, _deployed("--max-uncovered", "Share of requests that profiles may newly miss.", metavar="SHARE")
]
Force = Annotated[bool, _deployed("--force", "Search even where nothing has changed.")]
Metrics = Annotated[
    str | None, _deployed("--metrics", "Prometheus text file, for node exporter's collector.", metavar="FILE")
]


DEFAULT_MIN_GAIN = "2%"
DEFAULT_MAX_SHIFT = "10%"
DEFAULT_MAX_UNCOVERED = "0.1%"


def check_limits(given: dict[str, Any]) -> CheckLimits:
    """What counts as drift and what a change has to bring."""
    from tuner.recommendation.check import CheckLimits
    from tuner.recommendation.decide import Margins

    margins = Margins(
        min_gain=share("--min-gain", given["min_gain"]),
        max_uncovered=share("--max-uncovered", given["max_uncovered"]),
    )
    return CheckLimits(margins, share("--max-shift", given["max_shift"]))


def read_deployed_file(given: dict[str, Any], axes: tuple[str, ...] | None = None) -> Deployed | None:
    """The document in production; None on the first night, when the file to be written is not there yet."""
    from tuner.recommendation.deployed import read_deployed

    name = given["deployed"]
    if name is None or (not Path(name).exists() and Path(name).resolve() == Path(given["out"]).resolve()):
        return None
    return read_deployed(name, axes)


def stored_curves(given: dict[str, Any], store: Store, model: Model | None) -> ProfileSource | str:
    """The curves that the store has of a model, or why there are none."""
    from tuner.errors import TunerError
    from tuner.measurements.opening import open_recorded

    try:
        return open_recorded(store, given["measurements"], model)
    except TunerError as error:
        return str(error)


def night_of(given: dict[str, Any], store: Store, stored: ProfileSource | str, wishes: str) -> Night:
    """What a run with these options starts from."""
    from tuner.recommendation.overnight import Night

    if isinstance(stored, str):
        deployed, model_hash = read_deployed_file(given), None
    else:
        deployed = read_deployed_file(given, stored.model.axes)
        model_hash = stored.model.content_hash
    return Night(
        deployed=deployed,
        stored=stored,
        stored_counts=lambda: store.counts(model_hash),
        limits=check_limits(given),
        wishes=wishes,
        is_forced=given["force"],
    )
