"""Cases C49, C50 and C52: a locked or torn storage, trials left running, scores that are no numbers."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from tests.commands.running import ENCODER, SAMPLES, Shell, assert_one_line
from tests.search.synthetic import SyntheticSource, grid_opts, made_up_traffic
from tests.search.test_search import one_axis, problem_of
from tuner.errors import NothingFeasible
from tuner.profiles.profile import OptimizationProfile
from tuner.search.search import SearchSettings, name_of, search
from tuner.search.study import fail_trials_of_dead_runs, open_storage, open_study

HISTOGRAM = SAMPLES / "histogram.csv"


def recommend(shell: Shell, *more: str):
    logs = ("--logs", str(HISTOGRAM), "--measurements", str(ENCODER))
    return shell.tuner("recommend", *logs, *more)


def torn_journal(path: Path) -> Path:
    """An Optuna journal as a killed job leaves it: its last line is cut."""
    lines = [
        {"op_code": 0, "worker_id": "w", "study_name": "tuner", "directions": [1]},
        {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-11-30T18:46:45+00:00"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text + '{"op_code": 5, "worker_id": "w", "tri')
    path.with_name(path.name + ".lock").touch()
    return path


@pytest.mark.parametrize("url", ["{}", "sqlite:///{}"])
def test_a_journal_as_store_is_refused_by_name_at_once(url: str, shell: Shell) -> None:
    journal = torn_journal(shell.folder / "study_journal.log")
    before = journal.read_bytes()
    ran = recommend(shell, "--store", url.format(journal))
    assert_one_line(ran, "study_journal.log")
    # Optuna would wait half a minute for the lock that nobody holds, and take it away.
    assert "study_journal.log.lock" in shell.files
    assert journal.read_bytes() == before
    assert "profile.json" not in shell.files


@pytest.mark.slow
def test_a_store_locked_for_a_while_is_waited_for(shell: Shell) -> None:
    assert recommend(shell).exit_code == 0
    script = (
        "import sqlite3,time; c=sqlite3.connect('tuner.db'); c.execute('BEGIN IMMEDIATE'); "
        "print('held', flush=True); time.sleep(1.5); c.rollback()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=shell.folder, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert recommend(shell, "--seed", "1").exit_code == 0


def test_trials_left_running_by_a_dead_job_are_closed_and_the_rest_is_run(tmp_path: Path) -> None:
    """The kind of C50: 3 complete, 2 running, 10 asked for; 7 new ones run and none is left running."""
    url = f"sqlite:///{tmp_path}/c50.db"
    source, problem = one_axis()
    settings = SearchSettings(builds=10, stops_early=False, max_profiles=12)

    class Dead(BaseException):
        pass

    measure, finished = source.measure, []

    def dying(profile: OptimizationProfile, *others: object) -> object:
        if len(finished) >= 3 and profile not in finished:
            raise Dead("killed")
        finished.append(profile)
        return measure(profile, *others)  # type: ignore[arg-type]

    source.measure = dying  # type: ignore[method-assign, assignment]
    for _ in range(2):
        with pytest.raises(Dead, match="killed"):
            search(problem, settings, source, url)
    again, _ = one_axis()
    found = search(problem, settings, again, url)
    states = [t.state for t in optuna.load_study(study_name=name_of(problem, settings), storage=url).trials]
    assert len(found.trials) == 10
    assert states.count(TrialState.RUNNING) == 0
    assert states.count(TrialState.FAIL) == 2
    assert len(again.built) == 10  # three read again, seven new


def test_running_trials_of_any_study_are_failed_once_it_is_held(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/c50.db")
    study = open_study("tuner", storage)
    for value in (3.0, 3.0, 5.0):
        trial = study.ask()
        trial.suggest_int("n", 1, 8)
        study.tell(trial, value)
    for _ in range(2):
        study.ask()
    assert fail_trials_of_dead_runs(study) == 2
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 3 + [TrialState.FAIL] * 2
    storage.engine.dispose()


def test_a_trial_of_a_living_job_is_not_touched(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/c50.db"
    source, problem = one_axis()
    settings = SearchSettings(builds=3, stops_early=False)
    measure, building, go_on = source.measure, threading.Event(), threading.Event()

    def slow(*arguments: object) -> object:
        building.set()
        assert go_on.wait(30)
        return measure(*arguments)  # type: ignore[arg-type]

    source.measure = slow  # type: ignore[method-assign, assignment]
    living = threading.Thread(target=search, args=(problem, settings, source, url))
    living.start()
    try:
        assert building.wait(30)
        other, _ = one_axis()
        with pytest.raises(Exception, match="another run works on this very study"):
            search(problem, settings, other, url)
        running = optuna.load_study(study_name=name_of(problem, settings), storage=url).trials
        assert [t.state for t in running] == [TrialState.RUNNING]
    finally:
        go_on.set()
        living.join()
    assert not other.built


def test_a_score_that_is_always_nan_ends_with_the_reasons_counted(tmp_path: Path) -> None:
    source, problem = one_axis(noise=math.nan)
    with pytest.raises(NothingFeasible, match=r"no trial of 12 was successful \(.*not_finite"):
        search(problem, SearchSettings(stops_early=False), source, f"sqlite:///{tmp_path}/c52.db")


def test_a_run_in_which_every_trial_fails_leaves_the_previous_profile_in_place(shell: Shell) -> None:
    assert recommend(shell).exit_code == 0
    before = (shell.folder / "profile.json").read_bytes()
    ran = recommend(shell, "--slo", "service_p99<=1us")
    assert_one_line(ran, "no measured set keeps every --slo", exit_code=3)
    assert (shell.folder / "profile.json").read_bytes() == before


def test_one_nan_is_never_best_and_the_rest_goes_on(tmp_path: Path) -> None:
    opts = grid_opts(1, 2)
    source = SyntheticSource(1, opts=opts)
    true = source.latency_ms
    source.latency_ms = lambda opt, sizes: true(opt, sizes) * (math.nan if opt == opts[0] else 1)  # type: ignore[method-assign]
    problem = problem_of(source, made_up_traffic(1, 0))
    found = search(problem, SearchSettings(stops_early=False), source, f"sqlite:///{tmp_path}/c52.db")
    assert [m.profile.opt for m in found.measured] == [opts[1]]
    values = [t.value for t in found.trials if t.outcome == "scored"]
    assert values == [problem.judge.value(true(opts[1], problem.judge.histogram.sizes))]
