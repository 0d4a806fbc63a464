"""Samplers: who proposes the next profile. All work inside one Optuna study, made anew for each trial.

A trial's randomness comes from (seed, trial number) alone, so that a study which was stopped goes on as if
it had not been. What a sampler proposes is a point; the search takes the nearest opt that was not tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.trial import FrozenTrial

from tuner.axes import Size
from tuner.errors import UsageError, nearest_name
from tuner.search.outlook import Outlook
from tuner.search.space import Space

DEFAULT_SAMPLER = "curves"


@dataclass(frozen=True, slots=True)
class Situation:
    """What a sampler may know: the space, the opts not tried yet, and the outlook over the space."""

    space: Space
    untried: tuple[Size, ...]
    outlook: Callable[[], Outlook]
    distributions: Mapping[str, BaseDistribution]
    seed: int


class ProposingSampler(BaseSampler):
    """A sampler that proposes one opt, as a whole."""

    def __init__(self, situation: Situation, propose: Callable[[Situation], Size]) -> None:
        self._situation = situation
        self._propose = propose

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """The same for every trial: the axes' opts."""
        return dict(self._situation.distributions)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The proposed opt, axis by axis."""
        opt = self._propose(self._situation)
        return {f"opt_{axis}": value for axis, value in opt.as_dict().items()}

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Never needed: every parameter is proposed together."""
        raise AssertionError(f"parameter {param_name} is not an opt of the space")


def most_promising(situation: Situation) -> Size:
    """The opt whose build is expected to improve the best set most.

    Where no build is expected to, the one whose optimistic curve does best at any size: it is the one that
    is known least.
    """
    outlook, space = situation.outlook(), situation.space
    rows = space.rows(situation.untried)
    if (outlook.expected[rows] != 0).any():
        return situation.untried[int(outlook.expected[rows].argmax())]
    least = outlook.low_ms.min(axis=0)
    return situation.untried[int((outlook.low_ms[rows] / least).min(axis=1).argmin())]


def any_untried(situation: Situation) -> Size:
    """Any opt with the same chance; what is infeasible is not in the space and so never drawn."""
    drawn = np.random.default_rng(situation.seed).integers(len(situation.untried))
    return situation.untried[int(drawn)]


def _curves(situation: Situation) -> BaseSampler:
    return ProposingSampler(situation, most_promising)


def _random(situation: Situation) -> BaseSampler:
    return ProposingSampler(situation, any_untried)


def _tpe(situation: Situation) -> BaseSampler:
    with warnings.catch_warnings():
        # `multivariate` is marked experimental by Optuna; without it an opt's axes are drawn one by one.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return TPESampler(seed=situation.seed, multivariate=True, n_startup_trials=4, constant_liar=True)


SAMPLERS: Mapping[str, Callable[[Situation], BaseSampler]] = {
    "curves": _curves,
    "tpe": _tpe,
    "random": _random,
}
"""`curves` fits a latency model to all measured curves; it is the default as it wins the regret benchmark."""


def sampler_named(name: str) -> Callable[[Situation], BaseSampler]:
    if name not in SAMPLERS:
        raise UsageError(
            f"--sampler is '{name}'{nearest_name(name, SAMPLERS)}; accepted are {', '.join(SAMPLERS)}"
        )
    return SAMPLERS[name]


def seed_of_trial(seed: int, number: int) -> int:
    """The seed of everything random in one trial."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def first_untried(first_opts: Sequence[Size], untried: Sequence[Size]) -> Size | None:
    """The first of the opts to begin with that was not tried."""
    return next((opt for opt in first_opts if opt in untried), None)
