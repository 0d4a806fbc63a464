"""Records of a worker, whose additions reach the store through reports to the driver."""

from __future__ import annotations

from tests.measurements.recorded_files import MODEL, engine
from tuner.cluster.desk import CostsReport, EngineReport, Report, ReportedRecords
from tuner.measurements.measuring import SwitchCosts

BUILT = engine(4).engine
COSTS = CostsReport(BUILT.spec.key, 0, SwitchCosts(size_ms=0.1, profile_ms=0.2))


def test_what_changes_cost_on_a_worker_is_reported() -> None:
    reports: list[Report] = []
    records = ReportedRecords([], reports.append)
    records.add_engine(MODEL, BUILT)
    records.add_switch_costs(COSTS.key, COSTS.repeat, COSTS.costs)
    assert reports == [EngineReport(BUILT), COSTS]


def test_worker_that_is_started_again_takes_costs_for_no_measurement() -> None:
    records = ReportedRecords([EngineReport(BUILT), COSTS], lambda report: None)
    assert records.engines() == [BUILT]
    assert records.measurements(BUILT.spec.key, 0) == []
