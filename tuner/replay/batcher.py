"""What stands between requests and engine: nothing but a queue, or Triton's dynamic batcher."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import TunerError

BATCHERS = ("none", "fifo", "triton")
"""`none` replays no queue at all: a log row is an inference, and no response time is known."""
UNLIKE_SHAPES = ("separate", "pad", "ragged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batcher:
    """Settings of the batcher, as Triton's `dynamic_batching` names them.

    `fifo` executes each request alone. `triton` is the dynamic batcher with priorities off: sizes in
    `preferred_batch_size` are executed as soon as they are reached, other ones once the oldest request has
    waited `max_queue_delay_microseconds`. Without preferred sizes Triton takes the maximum batch as the
    only one. `unlike_shapes` says what happens to requests whose other axes differ: `separate` never joins
    them, `pad` executes them at the largest value of each axis, `ragged` (`allow_ragged_batch`) without
    padding, which is charged as the same batch of their mean length.
    """

    kind: str = "triton"
    max_batch: int = 1
    preferred_batch_size: tuple[int, ...] = ()
    max_queue_delay_microseconds: int = 0
    unlike_shapes: str = "separate"

    def __post_init__(self) -> None:
        if self.kind not in ("fifo", "triton"):
            raise TunerError(f"--batcher is '{self.kind}'; accepted are {', '.join(BATCHERS)}")
        if self.unlike_shapes not in UNLIKE_SHAPES:
            raise TunerError(
                f"--unlike-shapes is '{self.unlike_shapes}'; accepted are {', '.join(UNLIKE_SHAPES)}"
            )
        if self.max_batch < 1:
            raise TunerError(f"the maximum batch is {self.max_batch}; a whole number from 1 up is accepted")
        if self.max_queue_delay_microseconds < 0:
            raise TunerError(
                f"the queue delay is {self.max_queue_delay_microseconds} us; 0 or more is accepted"
            )
        wrong = [size for size in self.preferred_batch_size if not 1 <= size <= self.max_batch]
        if wrong:
            raise TunerError(
                f"preferred batch sizes {wrong} lie outside of 1 to the maximum batch of {self.max_batch}"
            )

    @property
    def effective_preferred(self) -> tuple[int, ...]:
        """The preferred sizes that Triton works with, rising."""
        return tuple(sorted(set(self.preferred_batch_size))) or (self.max_batch,)

    def __str__(self) -> str:
        if self.kind == "fifo":
            return "fifo"
        preferred = ",".join(str(size) for size in self.preferred_batch_size) or "-"
        return f"max {self.max_batch}, preferred {preferred}, delay {self.max_queue_delay_microseconds} us"


FIFO = Batcher(kind="fifo", max_batch=1)


def triton_default(max_batch: int, unlike_shapes: str = "separate") -> Batcher:
    """An empty `dynamic_batching { }`: no preferred sizes, no queue delay."""
    return Batcher(kind="triton", max_batch=max_batch, unlike_shapes=unlike_shapes)
