"""The Optuna study: its name, its storage beside the measurements, and what each trial leaves there."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, IntDistribution
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.connecting import (
    engine_options,
    store_error,
    url_without_password,
    wait_for_server,
)
from tuner.measurements.source import FailedProfile
from tuner.profiles.profile import OptimizationProfile
from tuner.search.space import Space

_MADE_BY_ANOTHER = ("alembic_version", "version_info", "already exists")
"""Words of a database that show another run making Optuna's tables at this moment."""
_MOST_OPENINGS = 10
_PAUSE_S = 0.2
_OUTCOME = "outcome"
"""The one attribute of a trial, written at once: a commit costs more than a trial's own work."""
SCORED = "scored"
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One trial and its outcome: `scored`, `pruned`, or a kind of failure; the latter two with a reason.

    `value` is the objective in ms of the best set once this profile was known, None where it gave no curve.
    """

    number: int
    profile: OptimizationProfile
    outcome: str
    reason: str | None = None
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A profile that is being measured: its trial, or the one that ended with it in a run before."""

    profile: OptimizationProfile
    trial: optuna.Trial | None = None
    ended: Trial | None = None


def failed_trial(number: int, failed: FailedProfile) -> Trial:
    """The trial of a profile that gave no curve."""
    return Trial(number=number, profile=failed.profile, outcome=failed.kind, reason=failed.reason)


def study_name(described: Sequence[Any]) -> str:
    """A hash of everything that makes the question: the same question, the same study."""
    text = json.dumps(described, sort_keys=True, default=str)
    return "tuner-" + hashlib.sha256(text.encode()).hexdigest()[:24]


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """One whole-number parameter an axis, as wide as the space may ever grow."""
    low, high = space.bounds
    pairs = zip(low.axes, low.values, high.values, strict=True)
    return {f"opt_{axis}": IntDistribution(a, max(a, b), log=True) for axis, a, b in pairs}


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Errors of the study's storage as one line that names it."""
    try:
        yield
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        # Optuna wraps the database's own error, whose words say what to do.
        cause = error.__cause__
        raise store_error(url, cause if isinstance(cause, SQLAlchemyError) else error) from error
    except (RuntimeError, AssertionError) as error:  # how Optuna greets tables of another version
        if "optuna" not in str(error).lower() and "schema" not in str(error).lower():
            raise
        what = str(error).splitlines()[0]
        raise TunerError(f"store {url_without_password(url)}: {what}; give another --store") from error


def open_storage(url: str) -> optuna.storages.RDBStorage:
    """Optuna's tables in the store's database; waits for a lock or a server as long as the store does."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = _made_storage(url)
    if storage.engine.dialect.name != "sqlite":
        wait_for_server(storage.engine)
    return storage


def _made_storage(url: str) -> optuna.storages.RDBStorage:
    """Optuna makes its tables without a lock: where another run makes them just now, look again."""
    for _ in range(_MOST_OPENINGS):
        try:
            return optuna.storages.RDBStorage(url, engine_kwargs=engine_options(url))
        except (SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            said = f"{error} {error.__cause__}"
            if not any(words in said for words in _MADE_BY_ANOTHER):
                raise
            time.sleep(_PAUSE_S)
    return optuna.storages.RDBStorage(url, engine_kwargs=engine_options(url))


def open_study(name: str, storage: optuna.storages.BaseStorage) -> optuna.Study:
    return optuna.create_study(study_name=name, storage=storage, load_if_exists=True)


def fail_trials_of_dead_runs(study: optuna.Study) -> int:
    """Close the trials that a run left behind; call it only while holding the study. Returns how many.

    One run at a time works on a study, so a trial that runs while we hold it has no living owner.
    """
    left = study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING))
    for frozen in left:
        study.tell(frozen.number, state=TrialState.FAIL)
    return len(left)


def ended_trials(study: optuna.Study) -> list[Trial]:
    """The trials whose outcome is known, in order; those of dead runs have none and are left out."""
    ended = study.get_trials(deepcopy=False, states=ENDED)
    told = ((frozen.number, frozen.user_attrs[_OUTCOME]) for frozen in ended if _OUTCOME in frozen.user_attrs)
    return [
        Trial(
            number=number,
            profile=OptimizationProfile(*(Size.of(**outcome[bound]) for bound in ("min", "opt", "max"))),
            outcome=outcome["kind"],
            reason=outcome["reason"],
            value=outcome["best"],
        )
        for number, outcome in told
    ]


def tell(
    study: optuna.Study, asked: optuna.Trial, trial: Trial, value: float | None, overruns: Mapping[str, float]
) -> None:
    """Store the outcome with its reason; `value` is that of the best set with this profile in it, None
    where there is none.

    `overruns` are what limits are broken by, as shares; zero or less is kept.
    """
    profile = trial.profile
    asked.set_user_attr(
        _OUTCOME,
        {
            "kind": trial.outcome,
            "reason": trial.reason,
            "best": trial.value,
            "min": profile.min.as_dict(),
            "opt": profile.opt.as_dict(),
            "max": profile.max.as_dict(),
        },
    )
    for name, overrun in sorted(overruns.items()):
        asked.set_constraint(name, overrun)
    if value is not None:
        study.tell(asked, value)
    else:
        study.tell(asked, state=TrialState.PRUNED if trial.outcome == "pruned" else TrialState.FAIL)
