"""How samples are taken and what is made of them: warm-up, when to stop, percentiles, intervals.

Methods and sources:

- Percentiles are nearest rank: an observed sample, never an interpolated one (as trtexec reports them).
- The 95 % interval of the median comes from order statistics, without assuming a distribution: the ranks
  n/2 -/+ 1.96 sqrt(n)/2 (J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems,
  section 2.2).
- Warm-up belongs to a size and a profile, never to an engine as a whole: the first runs after each change
  are slow. It ends when the median of a block of runs no longer moves.
- Nothing is trimmed. Slow samples stay in, and a caveat says that they are there.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.errors import TunerError
from tuner.measurements.measurement import Summary

Run = Callable[[int], list[float]]
"""Runs so many inferences and gives the milliseconds of each."""

_Z_95 = 1.959964


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRule:
    """When a size has been warmed up and when it has been sampled enough.

    `precision` is the half width of the median's 95 % interval, as a share of the median: by default the
    whole interval is within 1 %, so that two timings of one engine agree to 1 %. `max_ms` caps the time that
    the samples of one size may add up to, `max_samples` their number.
    """

    precision: float = 0.005
    block: int = 10
    min_samples: int = 20
    max_samples: int = 1000
    max_ms: float = 500.0
    warmup_block: int = 4
    warmup_blocks: int = 12
    warmup_change: float = 0.02

    def __post_init__(self) -> None:
        if not 0 < self.precision < 1:
            raise TunerError(
                f"precision of the median is {self.precision}; a share between 0 and 1 is needed"
            )
        if not 1 <= self.min_samples <= self.max_samples:
            raise TunerError(f"{self.min_samples} to {self.max_samples} samples cannot be taken")


@dataclass(frozen=True, slots=True)
class Sampled:
    """The samples in the order they were taken, and whether the median's interval is narrow enough."""

    samples_ms: tuple[float, ...]
    is_precise: bool


def warm_up(run: Run, rule: SamplingRule) -> int:
    """Run until the median of a block changes little against the block before; the inferences that took."""
    before = statistics.median(run(rule.warmup_block))
    spent_ms = before * rule.warmup_block
    for done in range(1, rule.warmup_blocks):
        if spent_ms > rule.max_ms:
            return done * rule.warmup_block
        now = statistics.median(run(rule.warmup_block))
        spent_ms += now * rule.warmup_block
        if abs(now - before) <= rule.warmup_change * before:
            return (done + 1) * rule.warmup_block
        before = now
    return rule.warmup_blocks * rule.warmup_block


def sample(run: Run, rule: SamplingRule) -> Sampled:
    """Take samples until the median is known well enough, or a cap is reached."""
    samples: list[float] = []
    while True:
        left = rule.max_samples - len(samples)
        samples += run(min(left, max(rule.block, rule.min_samples - len(samples))))
        precise = len(samples) >= rule.min_samples and median_half_width(samples) <= rule.precision
        if precise or len(samples) >= rule.max_samples or sum(samples) > rule.max_ms:
            return Sampled(tuple(samples), precise)


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median; the whole range where there are too few samples for one."""
    ordered = sorted(samples)
    count = len(ordered)
    spread = _Z_95 * math.sqrt(count) / 2
    low = math.floor(count / 2 - spread)
    high = math.ceil(count / 2 + 1 + spread)
    return ordered[max(low, 1) - 1], ordered[min(high, count) - 1]


def median_half_width(samples: Sequence[float]) -> float:
    """Half the width of the median's interval as a share of the median."""
    low, high = median_interval(samples)
    return (high - low) / 2 / statistics.median(samples)


def percentile(samples: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest sample that at least this share of all samples does not exceed."""
    if not samples or not 0 < percent <= 100:
        raise TunerError(f"percentile {percent} of {len(samples)} samples; above 0 to 100 of at least one")
    # Rounded before the ceiling: 99 % of 1000 is rank 990, though 0.99 * 1000 may come out above it.
    rank = math.ceil(round(percent * len(samples) / 100, 9))
    return sorted(samples)[max(rank, 1) - 1]


def summarise(samples_ms: Sequence[float]) -> Summary:
    """The summary of all samples; `std_ms` is the population's."""
    if not samples_ms:
        raise TunerError("no samples were taken; there is nothing to summarise")
    return Summary(
        mean_ms=statistics.fmean(samples_ms),
        std_ms=statistics.pstdev(samples_ms),
        min_ms=min(samples_ms),
        p50_ms=percentile(samples_ms, 50),
        p90_ms=percentile(samples_ms, 90),
        p99_ms=percentile(samples_ms, 99),
        max_ms=max(samples_ms),
        sample_count=len(samples_ms),
    )
