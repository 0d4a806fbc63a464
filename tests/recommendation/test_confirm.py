"""The whole loop over real builds and runs, with children that stand in for TensorRT."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stand_ins.stand_in_bench import stand_in_bench
from tuner.errors import BuildFailed
from tuner.measurements.built_source import BuildBudget, BuiltSource
from tuner.measurements.source import MeasuredProfile
from tuner.measurements.store import Store, open_store
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.confirm import confirmation_caveat
from tuner.recommendation.document import as_document
from tuner.recommendation.recommend import recommend
from tuner.recommendation.recommendation import Confirmation, Recommendation
from tuner.recommendation.scored import RecommendSettings
from tuner.search.study import SearchSettings
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic

ROWS = [(1, 32, 100), (4, 128, 30), (16, 32, 10), (64, 512, 1)]


def run(folder: Path, store: Store, *, fails: bool = False) -> Recommendation:
    log = folder / "log.csv"
    log.write_text("batch,seq,count\n" + "\n".join(",".join(map(str, row)) for row in ROWS))
    bench = stand_in_bench(folder, store)
    settings = LogSettings(logs=(str(log),), count="count", axes={"batch": "batch", "seq": "seq"})
    traffic = read_traffic(settings, bench.model, lambda done, rows: None)
    source = BuiltSource(bench, traffic.histogram, BuildBudget(builds=4))
    search = SearchSettings(max_profiles=2, builds=4)

    def failing(profiles: ProfileSet) -> list[MeasuredProfile]:
        raise BuildFailed("no memory left", "gpu_memory")

    confirm = failing if fails else source.confirm
    return recommend(traffic, source, RecommendSettings(search=search), store.url, None, confirm)


def test_loop_builds_searches_and_confirms_within_its_budget(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        found = run(tmp_path, store)
        single = [e for e in store.engines() if len(e.spec.profiles) == 1]
    assert len(single) <= 4
    evidence = as_document(found)["evidence"]
    assert evidence["latencies"] == "measured"
    assert evidence["confirmed"]
    assert evidence["confirmation"]["confirmed"] == pytest.approx(evidence["confirmation"]["predicted"])


def test_second_run_builds_nothing_and_finds_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with open_store(url) as store:
        first = as_document(run(tmp_path, store))
    logs = {log: log.stat().st_size for log in (tmp_path / "logs").iterdir()}
    with open_store(url) as store:
        assert as_document(run(tmp_path, store)) == first
    assert {log: log.stat().st_size for log in (tmp_path / "logs").iterdir()} == logs


def test_confirmation_that_fails_is_told_and_not_fatal(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/s.db") as store:
        found = run(tmp_path, store, fails=True)
    assert found.evidence is not None
    assert not found.evidence.is_confirmed
    assert any("gpu_memory: no memory left" in caveat.text for caveat in found.caveats)


def test_prediction_that_holds_needs_no_caveat() -> None:
    assert confirmation_caveat(Confirmation(predicted=1.0, confirmed=1.04, reason=None)) is None


def test_prediction_that_fails_is_told_with_its_difference() -> None:
    caveat = confirmation_caveat(Confirmation(predicted=1.0, confirmed=1.1, reason=None))
    assert caveat is not None
    assert "+10.0% against the prediction" in caveat.text
    assert "--builds" in caveat.text
