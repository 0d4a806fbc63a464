"""What tuning with a batcher found, as records: the server that was chosen, and others beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tuner.axes import Size
from tuner.profiles.profile import ProfileSet
from tuner.replay.batcher import Batcher
from tuner.replay.calibration import Calibration
from tuner.replay.capacity import Capacity
from tuner.replay.queueing import Server
from tuner.replay.response import QueueReplay, ResponseLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedBy:
    """A profile set under a batcher, replayed on the traffic that decides (the holdout, where there is one).

    `deployment` is `one_model` (one engine with all profiles, whose routing is the server's) or
    `model_per_profile` (an engine for each, the client routing). `judged_at` names the stand-in whose curve
    was used. `capacity` is None without a limit on response times.
    """

    name: str
    profiles: ProfileSet
    batcher: Batcher
    deployment: str
    replay: QueueReplay
    capacity: Capacity | None
    judged_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """The chosen server with its evidence.

    `others` are all servers that were compared, the chosen one among them. `outcome` and `iterations` say
    how the set came to fit the sizes that the batcher makes of it. `largest_rounding` is the largest share
    by which an axis was rounded up to a size of the table. `client_routing` says to which profile's model a
    client sends each size it asks for; None where there is one model.
    """

    chosen: ServedBy
    others: tuple[ServedBy, ...]
    server: Server
    objective: str
    limit: ResponseLimit | None
    load: float
    arrival_rate_rps: float
    outcome: str
    iterations: int
    trial_count: int
    cycle_count: int
    largest_rounding: float
    calibration: Calibration | None
    client_routing: Mapping[Size, int] | None = None
    notes: tuple[str, ...] = ()
