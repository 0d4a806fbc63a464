"""The Optuna study: asks for profiles, has them measured, and keeps what came of each trial."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from tuner.axes import LARGEST_DIMENSION, Size
from tuner.errors import NothingFeasible, TunerError
from tuner.measurements.measurement import Mode
from tuner.measurements.source import FailedProfile, MeasuredProfile, ProfileSource
from tuner.profiles.profile import OptimizationProfile
from tuner.replay.score import Judge, latency_table
from tuner.search.compose import best_sets
from tuner.search.space import Space

_PROFILE = "profile"
_REASON = "reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How to search: modes and limits, the seed that all randomness comes from."""

    mode: Mode = Mode.ENQUEUE
    max_profiles: int = 3
    builds: int = 64
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial and its outcome: `scored`, or a kind of failure with its reason.

    `value` is the objective of the best set once this profile was known, None for a failure.
    """

    number: int
    profile: OptimizationProfile
    outcome: str
    reason: str | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Everything that was measured, trial by trial, and why the search stopped."""

    measured: tuple[MeasuredProfile, ...]
    trials: tuple[Trial, ...]
    stopped: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What to search for: a space of profiles, traffic to judge by, opts to try first."""

    space: Space
    judge: Judge
    first_opts: tuple[Size, ...]
    model_hash: str


def study_name(problem: Problem, settings: SearchSettings) -> str:
    """A hash of model, traffic, space, objective, seed and budget: the same question, the same study."""
    judge = problem.judge
    described = json.dumps(
        [
            problem.model_hash,
            hashlib.sha256(judge.histogram.sizes.tobytes() + judge.requests.tobytes()).hexdigest(),
            [opt.values for opt in problem.space.opts],
            [problem.space.smallest.as_dict(), problem.space.largest.as_dict()],
            [judge.objective, judge.weight, settings.mode],
            [settings.seed, settings.builds, settings.max_profiles],
        ]
    )
    return "tuner-" + hashlib.sha256(described.encode()).hexdigest()[:24]


def search(
    problem: Problem,
    settings: SearchSettings,
    source: ProfileSource,
    storage_url: str,
    progress: Callable[[Trial, int], None] | None = None,
) -> SearchResult:
    """Run the study to its budget, or read it where it has ended before.

    `progress` is told each new trial and how many are left at most. Raises NothingFeasible when no trial
    gave a curve.
    """
    study = _open_study(study_name(problem, settings), storage_url, settings)
    run = _Run(problem, settings, source)
    for frozen in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL)):
        if _PROFILE in frozen.user_attrs:
            run.repeat(frozen.number, _from_attribute(frozen.user_attrs[_PROFILE]))
    total = min(settings.builds, len(problem.space.opts))
    while len(run.trials) < total:
        trial = run.next_trial(study)
        if progress is not None:
            progress(trial, total - len(run.trials))
    if not run.measured:
        reasons = sorted({f"{t.outcome}: {t.reason}" for t in run.trials})
        raise NothingFeasible(f"no trial of {len(run.trials)} was successful ({'; '.join(reasons)})")
    stopped = "all candidates measured" if total == len(problem.space.opts) else "budget of builds spent"
    return SearchResult(tuple(run.measured), tuple(run.trials), stopped)


class _Run:
    """The state of one search: what was tried and measured so far."""

    def __init__(self, problem: Problem, settings: SearchSettings, source: ProfileSource) -> None:
        self.problem = problem
        self.settings = settings
        self.source = source
        self.measured: list[MeasuredProfile] = []
        self.trials: list[Trial] = []

    def repeat(self, number: int, profile: OptimizationProfile) -> Trial:
        """Take the outcome of a profile, measuring it if it is not known yet."""
        outcome = self.source.measure(profile, self.problem.judge.histogram.sizes)
        if isinstance(outcome, FailedProfile):
            trial = Trial(number=number, profile=profile, outcome=outcome.kind, reason=outcome.reason)
        else:
            self.measured.append(outcome)
            trial = Trial(number=number, profile=profile, outcome="scored", value=self._best_value())
        self.trials.append(trial)
        return trial

    def next_trial(self, study: optuna.Study) -> Trial:
        # A trial's randomness comes from (seed, number) alone, so that a resumed study goes on as if it
        # had never stopped.
        study.sampler = _sampler(self.settings.seed, len(study.get_trials(deepcopy=False)))
        asked = study.ask()
        profile = self.problem.space.profile(self._propose(asked))
        asked.set_user_attr(_PROFILE, _as_attribute(profile))
        trial = self.repeat(asked.number, profile)
        if trial.value is None:
            asked.set_user_attr(_REASON, f"{trial.outcome}: {trial.reason}")
            study.tell(asked, state=TrialState.FAIL)
        else:
            study.tell(asked, trial.value)
        return trial

    def _propose(self, asked: optuna.Trial) -> Size:
        tried = {trial.profile.opt for trial in self.trials}
        for opt in self.problem.first_opts:
            if opt in self.problem.space.opts and opt not in tried:
                return opt
        left = [opt for opt in self.problem.space.opts if opt not in tried]
        # One fixed distribution an axis, whatever the traffic: a study can then outlive tonight's sizes.
        wanted = [
            asked.suggest_int(f"opt_{axis}", 1, LARGEST_DIMENSION, log=True)
            for axis in self.problem.space.smallest.axes
        ]
        return self.problem.space.nearest(wanted, left)

    def _best_value(self) -> float:
        judge = self.problem.judge
        table = latency_table([m.curve(self.settings.mode) for m in self.measured], judge.histogram)
        sets = best_sets(table, judge, min(self.settings.max_profiles, len(self.measured)))
        return min((s.value for s in sets), default=float("inf"))


def _open_study(name: str, storage_url: str, settings: SearchSettings) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage = optuna.storages.RDBStorage(storage_url)
        return optuna.create_study(
            study_name=name, storage=storage, sampler=_sampler(settings.seed, 0), load_if_exists=True
        )
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, RuntimeError) as error:
        raise TunerError(f"the study cannot be kept in the store: {str(error).splitlines()[0]}") from error


def _sampler(seed: int, number: int) -> optuna.samplers.BaseSampler:
    own_seed = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=own_seed, multivariate=True)


def _as_attribute(profile: OptimizationProfile) -> dict[str, dict[str, int]]:
    return {"min": profile.min.as_dict(), "opt": profile.opt.as_dict(), "max": profile.max.as_dict()}


def _from_attribute(bounds: Mapping[str, Mapping[str, int]]) -> OptimizationProfile:
    return OptimizationProfile(*(Size.of(**bounds[bound]) for bound in ("min", "opt", "max")))
