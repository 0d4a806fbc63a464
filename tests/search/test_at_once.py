"""Several profiles are asked for before the first of them is measured, and nothing else changes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.search.synthetic import SyntheticSource, grid_opts, made_up_traffic
from tuner.profiles.profile import OptimizationProfile
from tuner.replay.score import Judge
from tuner.search.search import Problem, SearchSettings, name_of, search
from tuner.search.space import space_of_candidates

SAMPLERS = ("curves", "tpe", "random")


class SeveralSource(SyntheticSource):
    """Notes how many profiles are under way: started, and not measured yet."""

    def __init__(self, **settings: object) -> None:
        super().__init__(1, opts=grid_opts(1, 12), **settings)  # type: ignore[arg-type]
        self.under_way: list[OptimizationProfile] = []
        self.most_under_way = 0

    def start(self, profile: OptimizationProfile) -> None:
        assert profile not in self.under_way
        self.under_way.append(profile)
        self.most_under_way = max(self.most_under_way, len(self.under_way))

    def measure(self, profile, sizes, stop=None):  # type: ignore[no-untyped-def]
        if profile in self.under_way:
            self.under_way.remove(profile)
        return super().measure(profile, sizes, stop)


def problem_of(source: SeveralSource) -> Problem:
    histogram = made_up_traffic(1, 0)
    judge = Judge(histogram, histogram.counts.astype(float))
    candidates = source.candidates()
    assert candidates is not None
    space = space_of_candidates(candidates, histogram.smallest, histogram.largest)
    return Problem(space, judge, (), source.model.content_hash or "")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_asks_for_three_different_profiles_at_once(sampler: str, url: str) -> None:
    source = SeveralSource()
    settings = SearchSettings(sampler=sampler, stops_early=False, at_once=3)
    found = search(problem_of(source), settings, source, url)
    opts = [trial.profile.opt for trial in found.trials]
    assert len(set(opts)) == len(opts) == len(grid_opts(1, 12))
    assert source.most_under_way == 3
    assert source.under_way == []


def test_builds_under_way_count_towards_the_budget(url: str) -> None:
    source = SeveralSource()
    settings = SearchSettings(builds=4, stops_early=False, at_once=3)
    assert len(search(problem_of(source), settings, source, url).trials) == 4


# Optuna's own sampler looks at all that is in the storage, which after a stop is more than it was.
@pytest.mark.parametrize("sampler", ["curves", "random"])
def test_a_stopped_study_goes_on_as_if_it_had_not_been(sampler: str, url: str, tmp_path: Path) -> None:
    source = SeveralSource()
    problem = problem_of(source)
    settings = SearchSettings(sampler=sampler, builds=9, stops_early=False, at_once=3)
    through = search(problem, settings, source, url)

    class Killed(Exception):
        pass

    def kill(trial: object, left: int) -> None:
        nonlocal told
        told += 1
        if told == 4:
            raise Killed("killed")

    told = 0
    other = f"sqlite:///{tmp_path}/other.db"
    with pytest.raises(Killed, match="killed"):
        search(problem, settings, SeveralSource(), other, kill)
    resumed = search(problem, settings, SeveralSource(), other)
    assert [t.profile for t in resumed.trials] == [t.profile for t in through.trials]
    assert [t.value for t in resumed.trials] == [t.value for t in through.trials]


def test_how_many_at_once_is_part_of_the_question(url: str) -> None:
    problem = problem_of(SeveralSource())
    assert name_of(problem, SearchSettings(at_once=2)) != name_of(problem, SearchSettings())


def test_profiles_asked_for_together_lie_apart(url: str) -> None:
    source = SeveralSource()
    settings = SearchSettings(builds=6, stops_early=False, at_once=3)
    opts = [t.profile.opt.values[0] for t in search(problem_of(source), settings, source, url).trials]
    grid = [opt.values[0] for opt in grid_opts(1, 12)]
    steps = [abs(grid.index(b) - grid.index(a)) for a, b in itertools.pairwise(opts[3:])]
    assert max(steps) > 1
