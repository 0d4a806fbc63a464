"""Prints what the README tells of the recorded engines: `python tests/benchmarks/recorded_facts.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tuner.axes import Size
from tuner.measurements.flat_parquet import RecordedEngine, read_flat
from tuner.measurements.measurement import Mode

SAMPLES = Path(__file__).parents[2] / "sample_logs"
ENCODER = SAMPLES / "h200_trt86_encoder6.parquet"


def times(engine: RecordedEngine, mode: Mode, profile_index: int = 0) -> dict[Size, float]:
    """P50 in ms of each size of one profile of an engine."""
    return {
        m.size: m.summary.p50_ms
        for m in engine.measurements
        if m.mode is mode and m.profile_index == profile_index
    }


def slowest_over_fastest(engines: list[RecordedEngine], mode: Mode) -> np.ndarray:
    """For each size the slowest of the engines with one full-range profile over the fastest."""
    alone = [times(e, mode) for e in engines if _is_full_range(e) and not e.engine.name.startswith("again")]
    return np.array([max(t[s] for t in alone) / min(t[s] for t in alone) for s in alone[0]])


def _is_full_range(engine: RecordedEngine) -> bool:
    profiles = engine.engine.spec.profiles.profiles
    return len(profiles) == 1 and profiles[0].max.short == "64x512"


def rebuilt_over_first(engines: list[RecordedEngine]) -> np.ndarray:
    """Latency of a second build of a profile over the first, at every size of every rebuilt engine."""
    by_name = {e.engine.name: times(e, Mode.ENQUEUE) for e in engines}
    pairs = [(by_name[n], by_name[n.removeprefix("again_")]) for n in by_name if n.startswith("again_")]
    return np.array([again[s] / first[s] for again, first in pairs for s in first])


def together_over_alone(engines: list[RecordedEngine]) -> list[np.ndarray]:
    """Latency of each profile of the two-profile engine over the same profile alone."""
    alone = {e.engine.spec.profiles.profiles[0]: times(e, Mode.ENQUEUE) for e in engines if _is_full_range(e)}
    two = next(e for e in engines if len(e.engine.spec.profiles) == 2)
    found = []
    for index, profile in enumerate(two.engine.spec.profiles):
        own = times(two, Mode.ENQUEUE, index)
        found.append(np.array([own[s] / alone[profile][s] for s in own]))
    return found


def main() -> None:
    engines = list(read_flat(ENCODER).engines)
    for mode in Mode:
        ratio = slowest_over_fastest(engines, mode)
        print(f"slowest over fastest opt at one size, {mode}: {ratio.min():.2f} to {ratio.max():.2f}")
    rebuilt = rebuilt_over_first(engines)
    low, high = np.percentile(rebuilt, [5, 95])
    print(f"rebuilt over first: p5 {low:.2f}, p95 {high:.2f}, worst {rebuilt.max():.2f}")
    for index, ratio in enumerate(together_over_alone(engines)):
        low, middle, high = np.percentile(ratio, [5, 50, 95])
        print(f"profile {index} of two over alone: median {middle:.2f}, p5 {low:.2f}, p95 {high:.2f}")
    first = max(m.first_run_ms or 0 for e in engines for m in e.measurements)
    print(f"slowest first run after a change of size: {first:.0f} ms")


if __name__ == "__main__":
    main()
