"""Tests of the search as a whole: outcomes, resume, liveness, stopping."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from tests.search.problems import (
    ENCODER,
    brute_force,
    encoder_mix,
    full_range_curves,
    judge_of,
    recorded,
)
from tests.search.synthetic import SyntheticSource, grid_opts, made_up_traffic, raising
from tuner.errors import NothingFeasible, TunerError, UsageError
from tuner.measurements.runs import holding_study
from tuner.replay.score import Judge
from tuner.replay.slo import Slo
from tuner.search.search import Problem, SearchSettings, name_of, search
from tuner.search.space import space_of_candidates, space_of_traffic
from tuner.search.study import open_storage, open_study
from tuner.traffic.histogram import SizeHistogram

SAMPLERS = ("curves", "tpe", "random")


def problem_of(source: SyntheticSource, histogram: SizeHistogram, *, slos: tuple[Slo, ...] = ()) -> Problem:
    judge = Judge(histogram, histogram.counts.astype(float), slos=slos)
    candidates = source.candidates()
    served = (histogram.smallest, histogram.largest)
    space = (
        space_of_traffic(histogram, served, model=source.model)
        if candidates is None
        else space_of_candidates(candidates, *served)
    )
    return Problem(space, judge, (), source.model.content_hash or "")


def one_axis(**settings: object) -> tuple[SyntheticSource, Problem]:
    source = SyntheticSource(1, opts=grid_opts(1, 12), **settings)  # type: ignore[arg-type]
    return source, problem_of(source, made_up_traffic(1, 0))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_sampler_measures_every_candidate_once(sampler: str, url: str) -> None:
    source, problem = one_axis()
    found = search(problem, SearchSettings(sampler=sampler, stops_early=False), source, url)
    assert sorted(p.opt.values for p in source.built) == sorted(o.values for o in problem.space.opts)
    assert found.stopped == "all candidates measured"
    assert found.gap is None


def test_an_unknown_sampler_names_those_there_are(url: str) -> None:
    source, problem = one_axis()
    with pytest.raises(UsageError, match="--sampler is 'tpa'; did you mean 'tpe'"):
        search(problem, SearchSettings(sampler="tpa"), source, url)


def test_the_budget_of_builds_ends_the_search_and_leaves_a_gap(url: str) -> None:
    source, problem = one_axis()
    found = search(problem, SearchSettings(builds=3, stops_early=False), source, url)
    assert (len(source.built), found.stopped) == (3, "budget of builds spent")
    assert found.gap is not None
    assert 0 <= found.gap < 1


def test_no_hours_are_no_builds(url: str) -> None:
    source, problem = one_axis()
    with pytest.raises(NothingFeasible, match="no trial of 0 was successful"):
        search(problem, SearchSettings(max_hours=0.0), source, url)


def test_patience_ends_the_search_near_the_best_set(url: str) -> None:
    source, problem = one_axis()
    found = search(problem, SearchSettings(max_profiles=2), source, url)
    best = min(brute_force_of(source, problem, count) for count in (1, 2))
    assert "with a chance of" in found.stopped
    assert len(source.built) < 12
    assert found.trials[-1].value == pytest.approx(best, rel=0.03)


def brute_force_of(source: SyntheticSource, problem: Problem, count: int) -> float:
    sizes = problem.judge.histogram.sizes
    latency = np.stack([source.latency_ms(opt, sizes) for opt in problem.space.opts])
    served = (latency[list(rows)].min(axis=0) for rows in itertools.combinations(range(len(latency)), count))
    return min(problem.judge.value(least) for least in served)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_study_stopped_and_resumed_goes_on_as_if_it_had_not_been(
    sampler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SearchSettings(sampler=sampler, builds=10, stops_early=False, seed=7)
    whole, problem = one_axis()
    through = search(problem, settings, whole, f"sqlite:///{tmp_path}/through.db")

    class Killed(BaseException):
        pass

    stopped, _ = one_axis()
    asked = itertools.count(1)
    measure = stopped.measure

    def dying(*arguments: object) -> object:
        if next(asked) == 5:
            raise Killed("killed")  # as a signal would: the trial stays running
        return measure(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(stopped, "measure", dying)
    url = f"sqlite:///{tmp_path}/stopped.db"
    with pytest.raises(Killed, match="killed"):
        search(problem, settings, stopped, url)
    monkeypatch.undo()
    again, _ = one_axis()
    resumed = search(problem, settings, again, url)
    assert [t.profile for t in resumed.trials] == [t.profile for t in through.trials]
    assert [t.value for t in resumed.trials] == [t.value for t in through.trials]


def test_a_finished_study_is_read_and_nothing_more_is_asked(url: str) -> None:
    source, problem = one_axis()
    settings = SearchSettings(builds=4, stops_early=False)
    first = search(problem, settings, source, url)
    again, _ = one_axis()
    second = search(problem, settings, again, url)
    assert second.trials == first.trials
    assert len(again.built) == 4


def test_tonights_new_sizes_search_on_in_the_same_storage(url: str) -> None:
    source = SyntheticSource(2)
    for seed in (0, 1):
        search(problem_of(source, made_up_traffic(2, seed)), SearchSettings(builds=3), source, url)
    assert len(optuna.get_all_study_summaries(url)) == 2


def test_a_failed_build_is_kept_with_its_reason_and_never_proposed_again(url: str) -> None:
    source, problem = one_axis(fails=lambda opt: ("out_of_memory", "needs 3 TiB") if opt["a"] > 500 else None)
    settings = SearchSettings(stops_early=False)
    found = search(problem, settings, source, url)
    failed = [t for t in found.trials if t.outcome not in ("scored", "pruned")]
    assert {(t.outcome, t.reason) for t in failed} == {("out_of_memory", "needs 3 TiB")}
    assert len({p.opt for p in source.built}) == len(source.built)
    again, _ = one_axis()
    search(problem, settings, again, url)
    assert not {p.opt for p in again.built} & {t.profile.opt for t in failed}


def test_a_source_that_raises_is_a_failed_trial_and_not_the_end(url: str) -> None:
    source, problem = one_axis(fails=lambda opt: raising(opt) if opt["a"] == 1 else None)
    found = search(problem, SearchSettings(stops_early=False), source, url)
    assert [(t.outcome, t.reason) for t in found.trials if t.outcome not in ("scored", "pruned")] == [
        ("crashed", "the builder died")
    ]


def test_when_every_trial_fails_the_reasons_are_counted(url: str) -> None:
    source, problem = one_axis(noise=math.nan)
    with pytest.raises(NothingFeasible, match=r"no trial of 12 was successful \(.*12|1 x not_finite"):
        search(problem, SearchSettings(stops_early=False), source, url)


def test_a_curve_of_nan_is_never_the_best(url: str) -> None:
    source, problem = one_axis()
    true = source.latency_ms
    source.latency_ms = lambda opt, sizes: true(opt, sizes) * (math.nan if opt["a"] == 1 else 1)  # type: ignore[method-assign]
    found = search(problem, SearchSettings(stops_early=False), source, url)
    assert "not_finite" in {t.outcome for t in found.trials}
    assert all(t.value is None or math.isfinite(t.value) for t in found.trials)


def test_an_engine_that_cannot_enter_the_best_set_is_not_timed_to_the_end(url: str) -> None:
    source, problem = one_axis()
    found = search(problem, SearchSettings(max_profiles=1, stops_early=False), source, url)
    pruned = [t for t in found.trials if t.outcome == "pruned"]
    assert pruned
    assert all("even at its most optimistic" in (t.reason or "") for t in pruned)
    assert source.timed_count < 12 * len(problem.judge.histogram)
    assert min(t.value for t in found.trials if t.value) == pytest.approx(brute_force_of(source, problem, 1))


def test_nothing_is_pruned_before_two_profiles_are_measured_whole(url: str) -> None:
    source, problem = one_axis()
    found = search(problem, SearchSettings(max_profiles=1, stops_early=False), source, url)
    first = next(i for i, t in enumerate(found.trials) if t.outcome == "pruned")
    assert sum(t.outcome == "scored" for t in found.trials[:first]) >= 2


def test_constraints_are_told_with_each_trial(url: str) -> None:
    source, _ = one_axis()
    problem = problem_of(
        source, made_up_traffic(1, 0), slos=(Slo("service_p99", 1e-6), Slo("build_time", 1e6))
    )
    settings = SearchSettings(builds=2)
    search(problem, settings, source, url)
    trials = optuna.load_study(study_name=name_of(problem, settings), storage=url).trials
    assert trials[0].constraints["service_p99"] > 0
    assert trials[0].constraints["build_time"] <= 0
    assert trials[0].constraints["coverage"] == 0


def test_two_runs_do_not_work_on_one_study(url: str) -> None:
    source, problem = one_axis()
    settings = SearchSettings(builds=2)
    storage = open_storage(url)
    with (
        holding_study(storage.engine, name_of(problem, settings)),
        pytest.raises(TunerError, match=r"another run works on this very study \(process \d+ on"),
    ):
        search(problem, settings, source, url)
    storage.engine.dispose()
    search(problem, settings, source, url)


def test_other_studies_share_the_store_at_the_same_time(url: str) -> None:
    source, problem = one_axis()
    storage = open_storage(url)
    with holding_study(storage.engine, "another"):
        assert search(problem, SearchSettings(builds=1), source, url).trials
    storage.engine.dispose()


def test_trials_of_a_killed_run_are_closed_and_made_up_for(url: str) -> None:
    source, problem = one_axis()
    settings = SearchSettings(builds=4, stops_early=False)
    storage = open_storage(url)
    study = open_study(name_of(problem, settings), storage)
    for _ in range(2):
        study.ask()
    storage.engine.dispose()
    found = search(problem, settings, source, url)
    states = [t.state for t in optuna.load_study(study_name=study.study_name, storage=url).trials]
    assert len(found.trials) == 4
    assert states.count(TrialState.COMPLETE) == 4
    assert states.count(TrialState.FAIL) == 2


def test_a_source_without_budget_ends_the_search_with_what_there_is(url: str) -> None:
    spent = ("budget", "not built: the 2 builds of the budget are spent (--builds)")
    source, problem = one_axis()
    source._fails = lambda opt: spent if len(source.built) > 2 else None
    found = search(problem, SearchSettings(stops_early=False), source, url)
    assert (len(found.measured), found.stopped) == (2, spent[1])


def test_an_optimum_on_the_edge_is_named_and_the_space_grows_past_it(url: str) -> None:
    source = SyntheticSource(1)
    histogram = SizeHistogram(("a",), np.array([[512], [1024]]), np.array([1, 99]))
    problem = problem_of(source, histogram)
    found = search(problem, SearchSettings(max_profiles=1, builds=12, stops_early=False), source, url)
    assert max(p.opt["a"] for p in source.built) > 1024
    assert all(axis == "a" for _, axis in found.edges)


def test_a_locked_storage_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.db"
    source, problem = one_axis()
    search(problem, SearchSettings(builds=1), source, f"sqlite:///{file}")
    patient = {"connect_args": {"timeout": 0.2}}
    monkeypatch.setattr("tuner.search.study.engine_options", lambda url: patient)
    script = (
        "import sqlite3,sys,time; c=sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); "
        "print('held', flush=True); time.sleep(30)"
    )
    command = [sys.executable, "-c", script, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(TunerError, match=r"study\.db: database is locked; another process holds it"):
                search(problem, SearchSettings(builds=2), source, f"sqlite:///{file}")
        finally:
            holder.kill()


def test_a_torn_storage_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    source, problem = one_axis()
    search(problem, SearchSettings(builds=1), source, f"sqlite:///{file}")
    content = file.read_bytes()
    file.write_bytes(content[:5000] + b"\xff" * (len(content) // 2 - 5000))
    with pytest.raises(TunerError, match=r"study\.db: database disk image is malformed; the file is damaged"):
        search(problem, SearchSettings(builds=2), source, f"sqlite:///{file}")


def test_the_store_of_the_encoder_gives_the_same_best_set_as_brute_force(url: str) -> None:
    histogram = encoder_mix("two-tier")
    source = recorded(ENCODER)
    judge = judge_of(histogram)
    space = space_of_candidates(source.candidates(), histogram.smallest, histogram.largest)
    found = search(Problem(space, judge, (), "x"), SearchSettings(stops_early=False), source, url)
    assert found.trials[-1].value == pytest.approx(
        min(brute_force(full_range_curves(source), judge, count) for count in (1, 2, 3))
    )


@pytest.mark.parametrize("axis_count", [1, 2, 3, 4])
def test_any_number_of_axes_is_searched_where_any_profile_can_be_built(axis_count: int, url: str) -> None:
    source = SyntheticSource(axis_count)
    histogram = made_up_traffic(axis_count, 0)
    problem = problem_of(source, histogram)
    found = search(problem, SearchSettings(max_profiles=2, builds=6), source, url)
    values = [t.value for t in found.trials if t.value is not None]
    assert values == sorted(values, reverse=True)
    assert all(p.covers_rows(histogram.sizes).all() for p in source.built)
    assert len({p.opt for p in source.built}) == len(source.built)


@pytest.mark.parametrize("objective", ["service_p50", "service_p99"])
def test_a_percentile_is_searched_for_as_well_as_a_mean(objective: str, url: str) -> None:
    source, problem = one_axis()
    judge = Judge(problem.judge.histogram, problem.judge.requests, objective)
    aimed = Problem(problem.space, judge, (), "x")
    found = search(aimed, SearchSettings(max_profiles=2, stops_early=False), source, url)
    best = min(brute_force_of(source, aimed, count) for count in (1, 2))
    assert min(t.value for t in found.trials if t.value) == pytest.approx(best)
