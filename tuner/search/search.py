"""The search: asks for profiles, has them measured, composes sets, and knows when to stop."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna

from tuner.axes import Size
from tuner.errors import EngineError, NothingFeasible
from tuner.measurements.curve import Curve
from tuner.measurements.measurement import Mode
from tuner.measurements.runs import holding_study
from tuner.measurements.source import FailedProfile, MeasuredProfile, ProfileSource
from tuner.profiles.profile import OptimizationProfile
from tuner.replay.score import Judge
from tuner.search.known import Known
from tuner.search.outlook import Outlook
from tuner.search.samplers import (
    DEFAULT_SAMPLER,
    Situation,
    first_untried,
    sampler_named,
    seed_of_trial,
)
from tuner.search.space import Space
from tuner.search.stopping import (
    ALL_MEASURED,
    BUILDS_SPENT,
    PATIENCE,
    UNLIKELY,
    is_out_of_time,
    no_gain_likely,
)
from tuner.search.study import (
    SCORED,
    Asked,
    Trial,
    distributions,
    ended_trials,
    fail_trials_of_dead_runs,
    failed_trial,
    open_storage,
    open_study,
    storage_errors,
    study_name,
    tell,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How to search: modes and limits, the seed that all randomness comes from.

    `max_hours` is wall time. `stops_early` lets the model end the search where a further build is not
    likely to gain; it makes no sense where profiles are only looked up. `at_once` profiles are asked for
    before the first of them is waited for. `waits` for another run that holds the same study.
    """

    mode: Mode = Mode.ENQUEUE
    max_profiles: int = 3
    builds: int = 64
    max_hours: float | None = None
    seed: int = 0
    sampler: str = DEFAULT_SAMPLER
    stops_early: bool = True
    at_once: int = 1
    waits: bool = dataclasses.field(default=False, repr=False)  # changes nothing about what is found


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Everything that was measured, trial by trial, and why the search stopped.

    `gap` is the expected gain of the best further build, as a share of the best set's value; None where
    every candidate was measured. `edges` are opts of the best set that lie on the edge of the space, with
    the axis; where the space `is_open` what lies beyond was not tried.
    """

    measured: tuple[MeasuredProfile, ...]
    trials: tuple[Trial, ...]
    stopped: str
    gap: float | None
    edges: tuple[tuple[Size, str], ...]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """What to search for: a space of profiles, traffic to judge by, opts to try first."""

    space: Space
    judge: Judge
    first_opts: tuple[Size, ...]
    model_hash: str


def name_of(problem: Problem, settings: SearchSettings) -> str:
    """The study of this question: model, traffic, space, objective, seed and budget."""
    judge, space = problem.judge, problem.space
    traffic = judge.histogram.sizes.tobytes() + judge.requests.tobytes()
    return study_name(
        [
            problem.model_hash,
            hashlib.sha256(traffic).hexdigest(),
            [opt.values for opt in space.opts],
            [size.as_dict() for size in (space.smallest, space.largest, *space.bounds)],
            [judge.objective, judge.weight, [str(slo) for slo in judge.slos], settings.mode],
            [settings.seed, settings.builds, settings.max_hours, settings.max_profiles, settings.sampler],
            *([settings.at_once] if settings.at_once > 1 else []),
            [opt.values for opt in problem.first_opts],
        ]
    )


def search(
    problem: Problem,
    settings: SearchSettings,
    source: ProfileSource,
    storage_url: str,
    progress: Callable[[Trial, int], None] | None = None,
) -> SearchResult:
    """Run the study to its end, or read it where it has ended before.

    `progress` is told each new trial and how many are left at most. Raises NothingFeasible when no trial
    gave a curve, TunerError where another run works on the same study or its storage cannot be used.
    """
    sampler_named(settings.sampler)
    name = name_of(problem, settings)
    with storage_errors(storage_url):
        storage = open_storage(storage_url)
        try:
            with holding_study(storage.engine, name, waits=settings.waits):
                study = open_study(name, storage)
                fail_trials_of_dead_runs(study)
                return search_in(study, problem, settings, source, progress)
        finally:
            storage.engine.dispose()


def search_in(
    study: optuna.Study,
    problem: Problem,
    settings: SearchSettings,
    source: ProfileSource,
    progress: Callable[[Trial, int], None] | None = None,
) -> SearchResult:
    """Run a study, wherever it is stored; the caller sees to it that nobody else works on it."""
    return _Search(problem, settings, source, study).run(progress)


class _Search:
    """The state of one search: what was tried, what is known, where the space has grown to."""

    def __init__(
        self, problem: Problem, settings: SearchSettings, source: ProfileSource, study: optuna.Study
    ) -> None:
        self.problem = problem
        self.settings = settings
        self.source = source
        self.study = study
        self.space = problem.space
        self.distributions = distributions(problem.space)
        self.known = Known(problem.judge, settings.mode, settings.max_profiles)
        self.trials: list[Trial] = []
        self.asked: deque[Asked] = deque()
        self.poor_outlooks = 0
        self.stopped: str | None = None
        self._outlook: Outlook | None = None

    def run(self, progress: Callable[[Trial, int], None] | None) -> SearchResult:
        started = time.monotonic()
        # A study that was stopped is gone through as it went: each trial is asked for when as many are under
        # way as were then, so that what is known at that time is what was known then.
        ended = deque(ended_trials(self.study))
        reason: str | None = None
        while True:
            while len(self.asked) < self.settings.at_once:
                if ended:
                    self.asked.append(Asked(ended[0].profile, ended=ended.popleft()))
                    continue
                reason = self.stopped or self._why_stop(time.monotonic() - started)
                if reason is not None:
                    break
                self._ask()
            if not self.asked:
                break
            trial = self._finish(self.asked.popleft())
            if trial is not None and progress is not None:
                progress(trial, self._left())
        if not self.known.measured:
            raise NothingFeasible(self._nothing())
        return SearchResult(
            measured=tuple(self.known.measured),
            trials=tuple(self.trials),
            stopped=reason or ALL_MEASURED,
            gap=self.outlook().gap if self._untried() else None,
            edges=self._edges(),
            is_open=self.space.is_open,
        )

    def _nothing(self) -> str:
        counted = Counter(f"{t.outcome}: {t.reason}" for t in self.trials)
        reasons = "; ".join(f"{count} x {reason}" for reason, count in sorted(counted.items()))
        why = f" ({reasons})" if reasons else f" ({self.stopped})" if self.stopped else ""
        return f"no trial of {len(self.trials)} was successful{why}"

    def _left(self) -> int:
        return min(self.settings.builds - len(self.trials), len(self._untried()))

    def _why_stop(self, elapsed_s: float) -> str | None:
        if not self._untried():
            return ALL_MEASURED
        if len(self.trials) + len(self.asked) >= self.settings.builds:
            return BUILDS_SPENT
        if is_out_of_time(elapsed_s, self.settings.max_hours):
            return f"budget of {self.settings.max_hours:g} hours spent"
        if self.settings.stops_early and self.poor_outlooks >= PATIENCE:
            return no_gain_likely(self.outlook())
        return None

    def _untried(self) -> tuple[Size, ...]:
        tried = {trial.profile.opt for trial in self.trials} | {one.profile.opt for one in self.asked}
        return tuple(opt for opt in self.space.opts if opt not in tried)

    def outlook(self) -> Outlook:
        """The outlook after the trials so far; drawn once for each trial."""
        if self._outlook is None:
            number = len(self.trials)
            generator = np.random.default_rng(seed_of_trial(self.settings.seed, number))
            self._outlook = self.known.outlook(self.space, generator)
        return self._outlook

    def _outlook_beside_asked(self) -> Outlook:
        """The outlook as if each profile that is asked for had the latencies that the model expects."""
        if not self.asked or not self.known.measured:
            return self.outlook()
        number = len(self.trials) + len(self.asked)
        generator = np.random.default_rng(seed_of_trial(self.settings.seed, number))
        rows = list(self.space.rows(one.profile.opt for one in self.asked))
        return self.known.outlook(self.space, generator, (rows, self.outlook().typical_ms[rows]))

    def _repeat(self, ended: Trial) -> None:
        """Take over a trial of before: its curve is in the source, a failure is not tried again."""
        if ended.outcome != SCORED:
            self._take(ended)
            return
        outcome = self.source.measure(ended.profile, self.problem.judge.histogram.sizes)
        if isinstance(outcome, FailedProfile):
            self._take(failed_trial(ended.number, outcome))
            return
        self.known.add(outcome)
        self._take(ended)

    def _ask(self) -> None:
        """Ask for one more profile, and have it begun with."""
        number = len(self.trials) + len(self.asked)
        untried = self._untried()
        self.study.sampler = sampler_named(self.settings.sampler)(
            Situation(
                self.space,
                untried,
                self._outlook_beside_asked,
                self.distributions,
                seed_of_trial(self.settings.seed, number),
            )
        )
        first = first_untried(self.problem.first_opts, untried)
        if first is not None:
            self.study.enqueue_trial({f"opt_{axis}": value for axis, value in first.as_dict().items()})
        asked = self.study.ask()
        wanted = [
            asked.suggest_int(name, d.low, d.high, log=True)  # type: ignore[attr-defined]
            for name, d in self.distributions.items()
        ]
        profile = self.space.profile(self.space.nearest(wanted, untried))
        if self.settings.at_once > 1:
            self.source.start(profile)
        self.asked.append(Asked(profile, trial=asked))

    def _finish(self, next_one: Asked) -> Trial | None:
        """Measure and tell; None for a trial of before, and where the source's own budget is spent."""
        profile, asked = next_one.profile, next_one.trial
        if next_one.ended is not None:
            self._repeat(next_one.ended)
            return None
        assert asked is not None  # either it has ended before or it was asked for just now
        outcome = self._measure(profile)
        if isinstance(outcome, FailedProfile) and outcome.kind == "budget":
            self.study.tell(asked, state=optuna.trial.TrialState.FAIL)
            self.stopped = outcome.reason
            return None
        if isinstance(outcome, FailedProfile):
            trial = failed_trial(asked.number, outcome)
            tell(self.study, asked, trial, None, {})
            self._take(trial)
            return trial
        composed = self.known.add(outcome)
        best = self.known.best
        trial = Trial(
            number=asked.number, profile=profile, outcome=SCORED, value=None if best is None else best.value
        )
        value = None if composed is None else composed.value
        tell(self.study, asked, trial, value, self.known.overruns(composed))
        self._take(trial)
        return trial

    def _measure(self, profile: OptimizationProfile) -> MeasuredProfile | FailedProfile:
        row = self.space.rows([profile.opt])[0]

        def stop(curve: Curve) -> str | None:
            return self.known.why_hopeless(curve, row, self.outlook())

        try:
            sizes = self.problem.judge.histogram.sizes
            return self.source.measure(profile, sizes, stop if self.known.can_prune else None)
        except EngineError as error:
            return FailedProfile(profile=profile, kind=error.kind, reason=str(error))

    def _take(self, trial: Trial) -> None:
        """Note a trial; the space grows around the best set, and the outlook is another one."""
        self.trials.append(trial)
        self._outlook = None
        best = self.known.best
        if best is not None:
            self.space = self.space.grown(self.known.measured[row].profile.opt for row in best.rows)
        if self.settings.stops_early and self.known.measured and self._untried():
            is_poor = self.outlook().chance < UNLIKELY
            self.poor_outlooks = self.poor_outlooks + 1 if is_poor else 0

    def _edges(self) -> tuple[tuple[Size, str], ...]:
        best = self.known.best
        if best is None:
            return ()
        opts = [self.known.measured[row].profile.opt for row in best.rows]
        return tuple((opt, axis) for opt in opts for axis in self.space.edges(opt))
