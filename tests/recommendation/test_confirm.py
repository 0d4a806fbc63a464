"""The whole loop over real builds and runs, with children that stand in for TensorRT."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

import pytest

from tests.stand_ins.recorded_engine import RECORDED
from tests.stand_ins.stand_in_bench import stand_in_bench
from tuner.engines.builder import GIB, BuilderOptions
from tuner.errors import BuildFailed
from tuner.measurements.bench import BuildChoices
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.flat_parquet import read_flat
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.source import MeasuredProfile
from tuner.measurements.store import Store, open_store
from tuner.model import Model
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.confirm import confirmation_caveat
from tuner.recommendation.document import as_document
from tuner.recommendation.recommend import recommend
from tuner.recommendation.recommendation import Confirmation, Recommendation
from tuner.recommendation.scored import RecommendSettings
from tuner.search.search import SearchSettings
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic
from tuner.traffic.traffic import Traffic

ROWS = [(1, 32, 100), (4, 128, 30), (64, 512, 1)]
BUILDS = 3


SETTINGS = RecommendSettings(search=SearchSettings(max_profiles=2, builds=BUILDS))


def traffic_in(folder: Path, model: Model) -> Traffic:
    log = folder / "log.csv"
    log.write_text("batch,seq,count\n" + "\n".join(",".join(map(str, row)) for row in ROWS))
    settings = LogSettings(logs=(str(log),), count="count", axes={"batch": "batch", "seq": "seq"})
    return read_traffic(settings, model, lambda done, rows: None)


def run(folder: Path, store: Store) -> Recommendation:
    bench = stand_in_bench(folder, store)
    traffic = traffic_in(folder, bench.model)
    source = BuiltSource(bench, traffic.histogram, BuildBudget(builds=BUILDS))
    return recommend(traffic, source, SETTINGS, store.url, confirm=source.confirm)


def test_loop_confirms_within_its_budget_and_a_second_run_builds_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with open_store(url) as store:
        first = as_document(run(tmp_path, store))
        assert sum(len(engine.spec.profiles) == 1 for engine in store.engines()) <= BUILDS
    assert first["evidence"]["latencies"] == "measured"
    confirmation = first["evidence"]["confirmation"]
    assert confirmation["confirmed"] == pytest.approx(confirmation["predicted"])
    logs = {log: log.stat().st_size for log in (tmp_path / "logs").iterdir()}
    with open_store(url) as store:
        again = as_document(run(tmp_path, store))
    # The first run may have chosen anew when its engine of two profiles told what a change of one costs.
    confirmation["attempts"] = confirmation["attempts"][-1:]
    assert again == first
    assert {log: log.stat().st_size for log in (tmp_path / "logs").iterdir()} == logs


def test_document_says_which_workspace_was_needed_and_what_a_switch_costs(tmp_path: Path) -> None:
    """The stand-in needs the limit once for each profile."""
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        options = BuilderOptions(workspace_bytes=GIB)
        bench = dataclasses.replace(stand_in_bench(tmp_path, store), choices=BuildChoices(options=options))
        traffic = traffic_in(tmp_path, bench.model)
        source = BuiltSource(bench, traffic.histogram, BuildBudget(builds=BUILDS))
        document = as_document(recommend(traffic, source, SETTINGS, store.url, confirm=source.confirm))
        costs_ms = [e.profile_change_ms for e in store.engines() if len(e.spec.profiles) > 1]
    assert document["evidence"]["workspace_bytes"] == 2 * GIB
    assert document["evidence"]["switch_ms"] == pytest.approx(statistics.median(costs_ms), rel=1e-4)
    assert document["evidence"]["timing_cache"] is None


def test_confirmation_that_fails_is_told_and_not_fatal(tmp_path: Path) -> None:
    def failing(profiles: ProfileSet, builds: int) -> list[MeasuredProfile]:
        raise BuildFailed("no memory left", "gpu_memory")

    flat = read_flat(RECORDED)
    traffic, source = traffic_in(tmp_path, flat.model), RecordedSource(flat.model, flat.engines)
    found = recommend(traffic, source, SETTINGS, f"sqlite:///{tmp_path}/s.db", confirm=failing)
    assert found.evidence is not None
    assert not found.evidence.is_confirmed
    assert any("gpu_memory: no memory left" in caveat.text for caveat in found.caveats)


def test_prediction_that_holds_needs_no_caveat() -> None:
    assert confirmation_caveat(Confirmation(opts=(), predicted=1.0, confirmed=1.04, reason=None)) is None


def test_prediction_that_fails_is_told_with_its_difference() -> None:
    caveat = confirmation_caveat(Confirmation(opts=(), predicted=1.0, confirmed=1.1, reason=None))
    assert caveat is not None
    assert "+10.0% against the prediction" in caveat.text
    assert "--builds" in caveat.text
