"""The part of the store that a bench needs: what was built and timed, read and appended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tuner.measurements.measurement import BuiltEngine, Measurement
from tuner.measurements.measuring import SwitchCosts
from tuner.model import Model


class Records(Protocol):
    """A store, or what stands in for one on a machine that cannot reach it."""

    def add_engine(self, model: Model, engine: BuiltEngine) -> None:
        """Append one build's outcome. The same spec and repeat stored before is kept as it was."""

    def add_measurements(self, key: str, repeat: int, measurements: Sequence[Measurement]) -> int:
        """Append timed sizes of one build; those stored before are kept. Returns how many were new."""

    def add_switch_costs(self, key: str, repeat: int, costs: SwitchCosts) -> None:
        """Keep what changes cost in one build's engine; what these costs do not know stays as it was."""

    def engines(self, model_hash: str | None = None) -> list[BuiltEngine]:
        """All builds in the order in which they were stored, of one model where its hash is given."""

    def measurements(self, key: str, repeat: int) -> list[Measurement]:
        """All timed sizes of one build in the order in which they were stored."""
