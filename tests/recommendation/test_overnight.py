"""Night after night: what is decided over thirty of them, and when a night searches at all."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from tests.commands.running import ENCODER
from tests.recommendation.nights import AXES, SETTINGS, Ran, day, log_of, run_nights
from tests.search.problems import recorded_with
from tuner.measurements.flat_parquet import RecordedEngine, read_flat
from tuner.measurements.opening import read_recorded
from tuner.measurements.recorded import RecordedSource
from tuner.recommendation.check import CheckLimits
from tuner.recommendation.decide import Margins
from tuner.recommendation.deployed import Deployed, deployed_of
from tuner.recommendation.document import as_document, document_text
from tuner.recommendation.json_place import parse_json
from tuner.recommendation.overnight import Night, recommend_overnight
from tuner.recommendation.recommend import recommend
from tuner.recommendation.recommendation import Recommendation
from tuner.recommendation.scored import RecommendSettings
from tuner.traffic.traffic import Traffic

NIGHTS = 30
REQUESTS = 20_000
TODAY = log_of(day(0.1, 48), REQUESTS, np.random.default_rng(0))
MOVED = log_of(day(0.6, 200), REQUESTS, np.random.default_rng(1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_slow_drift_over_thirty_nights_changes_at_most_four_times(tmp_path: Path, seed: int) -> None:
    progress = [i / NIGHTS for i in range(NIGHTS + 1)]
    ran = run_nights([day(0.02 + 0.5 * p, 24 * 10**p) for p in progress], REQUESTS, seed, tmp_path)
    assert 1 <= ran.changes <= 4
    assert ran.regret < 0.02


def oscillating(tmp_path: Path, seed: int) -> Ran:
    signs = [(-1) ** i for i in range(NIGHTS + 1)]
    return run_nights(
        [day(0.1 * (1 + 0.05 * s), 48 * (1 + 0.03 * s)) for s in signs], REQUESTS, seed, tmp_path
    )


@pytest.mark.parametrize("seed", [0])
def test_oscillation_within_noise_changes_nothing_and_costs_one_search(tmp_path: Path, seed: int) -> None:
    ran = oscillating(tmp_path, seed)
    assert (ran.changes, ran.searched) == (0, 1)
    assert ran.regret < 0.02


@pytest.mark.slow
def test_a_weekly_wave_changes_nothing(tmp_path: Path) -> None:
    waves = [math.sin(2 * math.pi * i / 7) for i in range(NIGHTS + 1)]
    ran = run_nights([day(0.1 * (1 + 0.3 * wave), 48) for wave in waves], REQUESTS, 0, tmp_path)
    assert ran.changes == 0
    assert ran.regret < 0.02


@pytest.mark.slow
def test_traffic_that_swings_far_is_not_followed_back_and_forth(tmp_path: Path) -> None:
    days = [day(0.1, 30) if i % 2 else day(0.35, 90) for i in range(NIGHTS + 1)]
    assert run_nights(days, REQUESTS, 0, tmp_path).changes <= 1


@pytest.mark.slow
def test_traffic_that_jumps_for_good_is_followed_once(tmp_path: Path) -> None:
    days = [day(0.1, 48)] * 8 + [day(0.6, 200)] * (NIGHTS - 7)
    ran = run_nights(days, REQUESTS, 0, tmp_path)
    assert ran.changes == 1
    assert ran.regret < 0.02


@dataclasses.dataclass
class Job:
    """A recorded source, a folder for studies, and how often it was searched."""

    source: RecordedSource
    folder: Path
    searches: int = 0

    def night(self, deployed: Deployed | None, **more: object) -> Night:
        facts = self.source.facts
        night = Night(
            deployed=deployed,
            stored=self.source,
            stored_counts=lambda: (facts.build_count, facts.measurement_count),
        )
        return dataclasses.replace(night, **more)  # type: ignore[arg-type]

    def run(self, traffic: Traffic, night: Night, settings: RecommendSettings = SETTINGS) -> Recommendation:
        def search() -> tuple[Recommendation, RecordedSource]:
            self.searches += 1
            return recommend(traffic, self.source, settings, f"sqlite:///{self.folder}/t.db"), self.source

        return recommend_overnight(traffic, night, settings, search)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(read_recorded(str(ENCODER), None), tmp_path)


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """What the first night finds: shared, since nobody changes it."""
    job = Job(read_recorded(str(ENCODER), None), tmp_path_factory.mktemp("first"))
    return job.run(TODAY, job.night(None))


@pytest.fixture(scope="module")
def deployed(first_night: Recommendation) -> Deployed:
    return written(first_night)


def written(found: Recommendation) -> Deployed:
    return deployed_of(parse_json(document_text(as_document(found)), "profile.json"), AXES)


def test_the_first_night_changes_since_nothing_is_deployed(first_night: Recommendation) -> None:
    assert (first_night.decision, first_night.reason) == ("change", "no deployed set")


def test_a_night_without_news_keeps_and_searches_nothing(job: Job, deployed: Deployed) -> None:
    found = job.run(TODAY, job.night(deployed))
    assert (found.decision, job.searches) == ("keep", 0)
    assert found.chosen.profiles == deployed.profiles


def test_force_searches_and_finds_the_same_again(job: Job, deployed: Deployed) -> None:
    found = job.run(TODAY, job.night(deployed, is_forced=True))
    assert (found.decision, job.searches) == ("keep", 1)
    assert "found the deployed set again" in found.reason


def test_new_measurements_in_the_store_are_a_reason_to_search(job: Job, deployed: Deployed) -> None:
    job.run(TODAY, job.night(deployed, stored_counts=lambda: (99, 9999)))
    assert job.searches == 1


def test_another_objective_is_a_reason_to_search(job: Job, deployed: Deployed) -> None:
    job.run(TODAY, job.night(deployed), dataclasses.replace(SETTINGS, objective="service_p90"))
    assert job.searches == 1


def test_traffic_that_moved_for_good_changes_once_it_has_lasted(job: Job, deployed: Deployed) -> None:
    decisions = []
    for _ in range(4):
        found = job.run(MOVED, job.night(deployed))
        decisions.append(found.decision)
        deployed = written(found)
    assert decisions.count("change") == 1
    assert "change" in decisions[:2]


def test_a_kept_set_stays_as_it_was_and_the_challenger_stands_beside_it(job: Job, deployed: Deployed) -> None:
    high = CheckLimits(Margins(min_gain=0.9))
    found = job.run(MOVED, job.night(deployed, limits=high))
    document = as_document(found)
    assert found.decision == "keep"
    assert written(found).profiles == deployed.profiles
    assert written(found).document.table == deployed.document.table
    assert document["candidate"]["profiles"]
    assert document["candidate"]["holdout_gain"]["value"] > 0


def test_a_kept_night_moves_what_later_nights_are_compared_with_only_by_a_search(
    job: Job, deployed: Deployed
) -> None:
    same = written(job.run(TODAY, job.night(deployed)))
    assert same.last_search is not None
    assert deployed.last_search is not None
    assert same.last_search.as_json() == deployed.last_search.as_json()


def test_a_deployed_set_that_misses_requests_is_replaced(job: Job) -> None:
    small = dataclasses.replace(SETTINGS, cap={"batch": 8})
    found = job.run(TODAY, job.night(written(job.run(TODAY, job.night(None), small))))
    assert found.decision == "change"
    assert "uncovered" in found.reason


def test_the_same_night_twice_gives_the_same_document(job: Job, deployed: Deployed) -> None:
    texts = {document_text(as_document(job.run(MOVED, job.night(deployed)))) for _ in range(2)}
    assert len(texts) == 1


def disturbed(job: Job, share: int) -> RecordedSource:
    """The recorded engines, every so many of whose measurements were taken beside another process."""
    flat = read_flat(ENCODER)
    caveat = ("shared: 1 other processes used the GPU; measure again when they have ended",)
    engines = [
        RecordedEngine(
            one.engine,
            tuple(
                dataclasses.replace(m, caveats=caveat) if i % share == 0 else m
                for i, m in enumerate(one.measurements)
            ),
        )
        for one in flat.engines
    ]
    return RecordedSource(flat.model, engines)


def test_a_decision_that_would_rest_on_disturbed_measurements_is_to_keep(
    job: Job, deployed: Deployed
) -> None:
    job.source = disturbed(job, 4)
    for _ in range(3):
        found = job.run(MOVED, job.night(deployed, is_forced=True))
        assert found.decision == "keep"
        assert "disturbed by other processes on the GPU" in found.reason
        deployed = written(found)


def test_a_deployed_set_gives_way_to_a_smaller_one_where_changes_turn_out_dear(
    tmp_path: Path, deployed: Deployed
) -> None:
    assert len(deployed.profiles) > 1
    job = Job(recorded_with(0.01, 2.0), tmp_path)
    found = job.run(TODAY, job.night(deployed))
    assert found.decision == "change"
    assert len(found.chosen.profiles) == 1
    assert found.night is not None
    assert found.night.check is not None
    assert found.night.check.loss is not None
    assert found.night.check.loss.low > 0  # the check from stored curves saw it before any search
    assert found.night.gain is not None
    assert found.night.gain.holdout is not None
    assert found.night.gain.holdout.low > 0


def test_a_kept_set_is_scored_with_what_changes_cost(tmp_path: Path, deployed: Deployed, job: Job) -> None:
    limits = CheckLimits(Margins(min_gain=0.9))
    plain = job.run(TODAY, job.night(deployed, limits=limits)).chosen.tune
    costly = Job(recorded_with(0.01, 0.02), tmp_path)
    night = costly.night(deployed, limits=limits)
    charged = costly.run(TODAY, night).chosen.tune
    assert costly.searches == 0
    assert plain is not None
    assert charged is not None
    assert plain.value < charged.value < plain.value + 0.02
