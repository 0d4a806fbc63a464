"""Where candidates report what they build and time, until the driver fetches it: the driver alone stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tuner.measurements.measurement import BuiltEngine, Measurement
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.store import same_hash
from tuner.model import Model


@dataclass(frozen=True, slots=True)
class EngineReport:
    """A build ended, well or badly."""

    engine: BuiltEngine


@dataclass(frozen=True, slots=True)
class TimedReport:
    """Sizes of one build were timed."""

    key: str
    repeat: int
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class CostsReport:
    """What changes cost in one build's engine was found."""

    key: str
    repeat: int
    costs: SwitchCosts


Report = EngineReport | TimedReport | CostsReport
ReportNow = Callable[[Report], None]


@dataclass(slots=True)
class Desk:
    """An actor beside the driver. It keeps all reports of a run, so that a task which is run again after its
    worker was lost starts from what its forerunner had reported.
    """

    _reports: dict[str, list[Report]] = field(default_factory=dict)
    _unfetched: list[Report] = field(default_factory=list)
    _attempts: dict[str, int] = field(default_factory=dict)

    def begin(self, spec_key: str) -> list[Report]:
        """A task for this spec starts: what was reported for it before."""
        self._attempts[spec_key] = self._attempts.get(spec_key, 0) + 1
        return list(self._reports.get(spec_key, ()))

    def report(self, spec_key: str, report: Report) -> None:
        self._reports.setdefault(spec_key, []).append(report)
        self._unfetched.append(report)

    def fetch(self) -> list[Report]:
        """Everything that was not fetched yet, in the order in which it came."""
        fetched, self._unfetched = self._unfetched, []
        return fetched

    def attempts(self, spec_key: str) -> int:
        """How often a task for this spec was started."""
        return self._attempts.get(spec_key, 0)


class ReportedRecords:
    """Records of one spec on a worker: what is known already, and each addition reported at once."""

    def __init__(self, known: Sequence[Report], report: ReportNow) -> None:
        self._engines: list[BuiltEngine] = []
        self._timed: dict[tuple[str, int], list[Measurement]] = {}
        self._report = report
        for one in known:
            self._take(one)

    def add_engine(self, model: Model, engine: BuiltEngine) -> None:
        if any(self._same(engine, known) for known in self._engines):
            return
        self._take(EngineReport(engine))
        self._report(EngineReport(engine))

    def add_measurements(self, key: str, repeat: int, measurements: Sequence[Measurement]) -> int:
        known = {_place(m) for m in self._timed.get((key, repeat), ())}
        new = tuple(m for m in measurements if _place(m) not in known)
        if new:
            self._take(TimedReport(key, repeat, new))
            self._report(TimedReport(key, repeat, new))
        return len(new)

    def add_switch_costs(self, key: str, repeat: int, costs: SwitchCosts) -> None:
        self._report(CostsReport(key, repeat, costs))  # nothing on a worker asks for them

    def engines(self, model_hash: str | None = None) -> list[BuiltEngine]:
        return [e for e in self._engines if model_hash is None or same_hash(e.spec.model_hash, model_hash)]

    def measurements(self, key: str, repeat: int) -> list[Measurement]:
        return list(self._timed.get((key, repeat), ()))

    def _take(self, report: Report) -> None:
        if isinstance(report, EngineReport):
            self._engines.append(report.engine)
        elif isinstance(report, TimedReport):
            self._timed.setdefault((report.key, report.repeat), []).extend(report.measurements)

    @staticmethod
    def _same(one: BuiltEngine, other: BuiltEngine) -> bool:
        return (one.spec.key, one.repeat) == (other.spec.key, other.repeat)


def _place(measurement: Measurement) -> tuple[object, ...]:
    """What no two measurements of one build share."""
    return measurement.profile_index, measurement.size, measurement.mode, measurement.input_fill
