"""The recommendation: the chosen profile set with everything that speaks for and against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.axes import Size
from tuner.measurements.source import SourceFacts
from tuner.model import Model
from tuner.profiles.profile import ProfileSet
from tuner.profiles.routing import RoutingTable
from tuner.recommendation.batched import Batching
from tuner.recommendation.explain import Explanation
from tuner.recommendation.night import NightRecord
from tuner.recommendation.pareto import FrontSet
from tuner.replay.coverage import Coverage
from tuner.replay.score import Score
from tuner.search.study import Trial
from tuner.traffic.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Caveat:
    """A reason to doubt a number, and what to do about it."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A profile set with its scores on the tuned part of the traffic and on the holdout.

    `judged_at` is None where the set's own curves are known, else the stand-in whose curve was used
    (`nearest:4x64`); no gain is claimed over such a set. A score is None where there is no such traffic.
    """

    profiles: ProfileSet
    tune: Score | None
    holdout: Score | None
    judged_at: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileShare:
    """Share (0 to 1) of requests and of work that a profile serves."""

    requests: float
    work: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The objective in ms that was predicted for the set of these opts, and the one it reached as one engine.

    `confirmed` is None where it could not be built or measured; `reason` then says why.
    """

    opts: tuple[Size, ...]
    predicted: float
    confirmed: float | None
    reason: str | None

    @property
    def difference(self) -> float | None:
        """By which share the confirmed score is above the predicted one; None where there is none."""
        return None if self.confirmed is None else self.confirmed / self.predicted - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the numbers rest on; None is a fact that is not known.

    `gap` is what a further build is expected to gain, as a share of the objective; None where nothing is left
    to build. `confirmation` is that of the recommended set, `attempts` are those of every set that was built
    as one engine, in their order: after one that came out otherwise the choice was made again.
    """

    facts: SourceFacts
    mode: str
    seed: int
    trial_count: int
    failed_trials: Mapping[str, int]
    stopped: str
    sampler: str | None = None
    gap: float | None = None
    trials: tuple[Trial, ...] = ()
    confirmation: Confirmation | None = None
    attempts: tuple[Confirmation, ...] = ()

    @property
    def is_confirmed(self) -> bool:
        return self.confirmation is not None and self.confirmation.confirmed is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What `recommend` found; `evidence` is None for a profile by rule, which nothing was measured for;
    `model` is None where neither model nor measurements were given.

    `chosen` is the set to run: the deployed one where the decision is `keep`, and then `candidate` is the
    best set that was found instead; where it is `change`, `deployed` is the set that it replaces. `policy`
    is how sizes find their profile. `by_count` maps a number of profiles to the objective of the best set of
    that many; `rules` maps a rule's name to its evaluation. `interval` holds the objective of 95 % of other
    draws of the traffic that decided, and builds; `pareto` is None where it was not asked for.
    """

    decision: str
    reason: str
    model: Model | None
    traffic: Traffic
    coverage: Coverage | None
    chosen: Evaluated
    routing: RoutingTable
    shares: tuple[ProfileShare, ...]
    objective: str
    weight: str
    by_count: Mapping[int, float]
    rules: Mapping[str, Evaluated]
    alternatives: Mapping[str, Evaluated]
    evidence: Evidence | None
    caveats: tuple[Caveat, ...]
    policy: str = "best"
    candidate: Evaluated | None = None
    deployed: Evaluated | None = None
    night: NightRecord | None = None
    interval: tuple[float, float] | None = None
    explanation: Explanation | None = None
    pareto: tuple[FrontSet, ...] | None = None
    batching: Batching | None = None
