"""The typed form of a document that was read back: what a server, a build and an export need of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.axes import Size
from tuner.errors import TunerError
from tuner.model import Model
from tuner.profiles.profile import OptimizationProfile, ProfileSet, TensorRange

TensorRanges = Mapping[str, TensorRange]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProfile:
    """A profile of the document: its range in axes and, by input tensor, in shapes.

    `tensors` is None where neither the document nor a model told the inputs. Shares run from 0 to 1, None
    where they are not known.
    """

    index: int
    range: OptimizationProfile
    tensors: TensorRanges | None = None
    requests_share: float | None = None
    work_share: float | None = None


@dataclass(frozen=True, slots=True)
class BatcherSettings:
    """The dynamic batcher that the set was judged with; the delay is in microseconds."""

    max_batch: int
    preferred_batch_size: tuple[int, ...]
    max_queue_delay_microseconds: int
    instance_count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDocument:
    """A document as `tuner.load` returns it.

    `source` names the file in messages. `table` maps listed sizes to a profile index (policy `best`).
    `client_routing` maps sizes of requests to the profile whose own model they are sent to, None where one
    model has all profiles.
    `alternatives` has the best set under another routing policy, where one was found. `tensorrt` and
    `flavour` say what measured the latencies, None for a profile by rule.
    """

    source: str
    schema_version: int
    decision: str
    reason: str
    profiles: tuple[DocumentProfile, ...]
    policy: str
    table: Mapping[Size, int] = field(default_factory=dict)
    alternatives: Mapping[str, ProfileSet] = field(default_factory=dict)
    batcher: BatcherSettings | None = None
    client_routing: Mapping[Size, int] | None = None
    model: Model | None = None
    model_hash: str | None = None
    tensorrt: str | None = None
    flavour: str | None = None

    @property
    def profile_set(self) -> ProfileSet:
        return ProfileSet(tuple(profile.range for profile in self.profiles))

    @property
    def axes(self) -> tuple[str, ...]:
        return self.profiles[0].range.axes

    @property
    def tensor_ranges(self) -> tuple[TensorRanges, ...]:
        """The shapes of each profile by input tensor; TunerError where the inputs are not known."""
        known = tuple(profile.tensors for profile in self.profiles if profile.tensors is not None)
        if len(known) != len(self.profiles):
            raise TunerError(
                f"{self.source}: was made without a model, so the shapes of its inputs are not known; give "
                "the model with --model FILE.onnx"
            )
        return known


def check_range(range_: TensorRange, where: str) -> None:
    """Raise TunerError unless ranks agree and min <= opt <= max in every dimension and value."""
    bounds = {"dimension": (range_.min, range_.opt, range_.max)}
    if range_.values is not None:
        bounds["value"] = (range_.values["min"], range_.values["opt"], range_.values["max"])
    for kind, (low, opt, high) in bounds.items():
        if not len(low) == len(opt) == len(high):
            raise TunerError(
                f"{where}: min, opt and max have {len(low)}, {len(opt)} and {len(high)} {kind}s; give each "
                "of them as many"
            )
        for i, (a, b, c) in enumerate(zip(low, opt, high, strict=True)):
            if not a <= b <= c:
                raise TunerError(f"{where}: breaks min <= opt <= max in {kind} {i}: {a}, {b}, {c}")
