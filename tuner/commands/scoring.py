"""What `check` and `replay` share: curves that are known already, read without writing anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model


@dataclass(frozen=True, slots=True)
class KnownCurves:
    """Curves, or why there are none, and the model as far as anything tells it."""

    curves: ProfileSource | str
    model: Model | None


def known_curves(given: dict[str, Any]) -> KnownCurves:
    """From --measurements or the store; the model from --model, the curves, or the deployed document.

    A store without curves is no error here: what needs none can be said all the same.
    """
    from tuner.onnx_file import read_onnx

    model = read_onnx(given["model"]) if given["model"] else None
    try:
        curves: ProfileSource | str = _curves(given, model)
    except TunerError as error:
        if given["measurements"] is not None:
            raise
        curves = str(error)
    if not isinstance(curves, str):
        model = curves.model
    return KnownCurves(curves, model or _model_of(given["deployed"]))


def _curves(given: dict[str, Any], model: Model | None) -> ProfileSource:
    from tuner.measurements.opening import open_recorded, read_recorded

    measurements = given["measurements"]
    if measurements is not None and "://" not in measurements:
        return read_recorded(measurements, model)
    with existing_store(measurements or given["store"]) as store:
        return open_recorded(store, None, model)


def existing_store(url: str) -> Store:
    """The store, which is not made for a command that only reads."""
    from tuner.measurements.store import open_store

    path = url.removeprefix("sqlite:///")
    if path != url and not Path(path).exists():
        raise TunerError(
            f"store {url}: there is none yet; run 'tuner recommend' first, or give another --store"
        )
    return open_store(url)


def _model_of(document: str | None) -> Model | None:
    from tuner.recommendation.reading_document import load

    return load(document).model if document else None


def options_of_a_score(given: dict[str, Any]) -> dict[str, Any]:
    """The options with defaults for those of a search, which a score does not have."""
    return {"profiles": None, "max_profiles": 3, "builds": 1, "max_hours": None, "seed": 0, **given}
