"""What one night knows of the deployed set: the records that check, decision and document share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuner.axes import LARGEST_DIMENSION
from tuner.recommendation.gain import Gain
from tuner.recommendation.json_place import Place
from tuner.recommendation.rounding import rounded
from tuner.traffic.shift import Cells, Shift


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LastSearch:
    """What the last search saw, which the deployed set has stood since: later nights are compared with it.

    `uncovered` is the share of requests that the set left uncovered. `settings` is a digest of what was
    wanted; `builds` and `measurements` count what the store held of the model.
    """

    cells: Cells
    uncovered: float
    settings: str
    builds: int
    measurements: int

    def as_json(self) -> dict[str, Any]:
        return {
            **cells_as_json(self.cells),
            "uncovered_share": rounded(self.uncovered),
            "settings": self.settings,
            "builds": self.builds,
            "measurements": self.measurements,
        }

    @classmethod
    def read(cls, place: Place) -> LastSearch:
        return cls(
            cells=read_cells(place),
            uncovered=place.key("uncovered_share").number(),
            settings=place.key("settings").text(),
            builds=place.key("builds").whole(),
            measurements=place.key("measurements").whole(),
        )


def cells_as_json(cells: Cells) -> dict[str, Any]:
    return {"axes": list(cells.axes), "cells": cells.rows()}


def read_cells(place: Place) -> Cells:
    axes = [axis.text() for axis in place.key("axes").items()]
    return Cells.from_rows(axes, [_numbers(row, len(axes)) for row in place.key("cells").items()])


def _numbers(row: Place, axis_count: int) -> list[float]:
    """A size and the three numbers behind it."""
    length, numbers = axis_count + 3, [item.number() for item in row.items()]
    if len(numbers) != length or not all(math.isfinite(n) and n >= 0 for n in numbers):
        raise row.wrong(f"{length} numbers from 0 up are accepted: a size, inferences, requests and work")
    if max(numbers[:axis_count], default=0) > LARGEST_DIMENSION:
        raise row.wrong(f"a size has values up to {LARGEST_DIMENSION}")
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Today's traffic against the deployed set; `reasons` are sentences, and without any there is no drift.

    Shares of requests run from 0 to 1; `uncovered_then` and `shift` are None where the document does not
    say what its traffic was. `loss` is what the best set out of the stored curves would save, None for
    `loss_unknown`.
    """

    uncovered_then: float | None
    uncovered_now: float
    shift: Shift | None
    loss: Gain | None
    loss_unknown: str | None = None
    reasons: tuple[str, ...] = ()

    @property
    def is_drift(self) -> bool:
        return bool(self.reasons)

    def as_json(self) -> dict[str, Any]:
        shift, loss = self.shift, self.loss
        return {
            "drift": self.is_drift,
            "reasons": list(self.reasons),
            "uncovered_then": _rounded(self.uncovered_then),
            "uncovered_now": _rounded(self.uncovered_now),
            "shift": None if shift is None else _interval(shift.value, shift.low, shift.high),
            "loss": None if loss is None else _interval(loss.value, loss.low, loss.high),
            "loss_unknown": self.loss_unknown,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else rounded(value)


def _interval(value: float, low: float, high: float) -> Mapping[str, float | None]:
    return {"value": _rounded(value), "low": _rounded(low), "high": _rounded(high)}


@dataclass(frozen=True, slots=True)
class GainOver:
    """Gains of the challenger over the deployed set, None where they cannot be told."""

    tune: Gain | None = None
    holdout: Gain | None = None
    recent: Gain | None = None

    def as_json(self) -> dict[str, Any]:
        named = (("gain", self.tune), ("holdout_gain", self.holdout), ("recent_gain", self.recent))
        return {
            name: None if gain is None else _interval(gain.value, gain.low, gain.high) for name, gain in named
        }


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NightRecord:
    """What a recommendation says beside its set: drift, gain over the deployed set, and what went before.

    `recent` is the traffic of the last nights together, each later one weighing more.
    """

    last_search: LastSearch
    recent: Cells
    check: Check | None = None
    gain: GainOver | None = None
