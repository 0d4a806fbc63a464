"""Builds until the best set of what was measured is within 2 % of the best set there is, for each sampler.

    python tests/benchmarks/regret.py [encoder|ranker|made-up] [--seeds N] [--samplers curves,tpe,random]
                                      [--profiles 1,2,3] [--traces FOLDER]

`encoder` and `ranker` are the recorded grids; the seed shakes the shares of each mix of traffic. With a
folder of real traces at hand, `encoder` is also run on their own lengths. `made-up` are families of
engines with known curves, denser, in one to three axes. Beside every sampler stands random order over
the same candidates, drawn many times without a study. Every search is a real one: an Optuna study, ask
and tell, kept in memory.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray

from tests.search.problems import BATCHES, ENCODER, LENGTHS, MIXES, RANKER, encoder_mix, judge_of, recorded
from tests.search.synthetic import SyntheticSource, grid_opts, made_up_traffic
from tuner.measurements.measurement import Mode
from tuner.measurements.source import MeasuredProfile, ProfileSource
from tuner.profiles.rules import SINGLE_PROFILE_RULES
from tuner.replay.score import LatencyTable, latency_table
from tuner.search.compose import best_set
from tuner.search.search import Problem, SearchSettings, search_in
from tuner.search.space import space_of_candidates
from tuner.search.study import Trial
from tuner.traffic.histogram import SizeHistogram

WITHIN = 0.02
SHOWN_BUILDS = 10
RANDOM_ORDERS = 200


@dataclass(frozen=True)
class Arena:
    """One search problem with its answer: candidates, traffic, the curve of each candidate."""

    name: str
    source: ProfileSource
    histogram: SizeHistogram
    problem: Problem
    table: LatencyTable

    @classmethod
    def of(cls, name: str, source: ProfileSource, histogram: SizeHistogram) -> Arena:
        candidates = source.candidates() or ()
        space = space_of_candidates(candidates, histogram.smallest, histogram.largest)
        judge = judge_of(histogram)
        measured = [source.measure(space.profile(opt), histogram.sizes) for opt in space.opts]
        curves = [m.curve(Mode.ENQUEUE) for m in measured if isinstance(m, MeasuredProfile)]
        return cls(name, source, histogram, Problem(space, judge, (), name), latency_table(curves, histogram))

    def best(self, most: int) -> float:
        """The objective of the best set of at most so many profiles, over all candidates."""
        found = [best_set(self.table, self.problem.judge, count) for count in range(1, most + 1)]
        return min(s.value for s in found if s is not None)


def reached_after(values: Sequence[float], best: float) -> int:
    """How many builds it took; one more than were made where it was not reached."""
    near = [place for place, value in enumerate(values) if value <= best * (1 + WITHIN)]
    return near[0] + 1 if near else len(values) + 1


class Enough(Exception):
    """The search came near enough."""


def searched(arena: Arena, sampler: str, most: int, seed: int, builds: int) -> list[float]:
    """The best value after each build, until it is near the best and enough builds are shown."""
    values: list[float] = []
    best = arena.best(most)

    def note(trial: Trial, left: int) -> None:
        values.append(trial.value if trial.value is not None else values[-1])  # a pruned one adds nothing
        if len(values) >= SHOWN_BUILDS and values[-1] <= best * (1 + WITHIN):
            raise Enough

    settings = SearchSettings(max_profiles=most, builds=builds, seed=seed, sampler=sampler, stops_early=False)
    with contextlib.suppress(Enough):
        search_in(optuna.create_study(), arena.problem, settings, arena.source, note)
    return values


def random_order(arena: Arena, most: int, seed: int) -> int:
    """Builds that random order needs, on the same problem."""
    judge, best = arena.problem.judge, arena.best(most)
    order = np.random.default_rng(seed).permutation(len(arena.table.latency_ms))
    for built in range(1, len(order) + 1):
        rows = order[:built].tolist()
        sets = [
            best_set(arena.table.of(rows), judge, count, containing=built - 1)
            for count in range(1, min(most, built) + 1)
        ]
        if any(s is not None and s.value <= best * (1 + WITHIN) for s in sets):
            return built
    return len(order)


def rules_regret(arena: Arena) -> dict[str, float]:
    """By which share each rule's opt, or the nearest candidate's, is slower than the best single profile."""
    space, judge = arena.problem.space, arena.problem.judge
    alone = {opt: judge.value(row) for opt, row in zip(space.opts, arena.table.latency_ms, strict=True)}
    return {
        name: alone[space.nearest(rule(arena.histogram).values, space.opts)] / min(alone.values()) - 1
        for name, rule in SINGLE_PROFILE_RULES.items()
    }


def encoder_arenas(seed: int, traces: Path | None) -> Iterator[Arena]:
    for mix in MIXES:
        yield Arena.of(mix, recorded(ENCODER), encoder_mix(mix, seed))
    if traces is not None:
        yield from trace_arenas(seed, traces)


def trace_arenas(seed: int, traces: Path) -> Iterator[Arena]:
    """Lengths of real traces on the encoder's grid; lengths of thousands are scaled down by 256."""
    import pyarrow.parquet as pq

    files = {
        "azure_llm_2023_conv": ("ContextTokens", None, 16),
        "servegen_m_large": ("input_tokens", "count", 1),
    }
    for name, (column, count, scale) in files.items():
        table = pq.read_table(traces / f"{name}.parquet")
        values = table[column].to_numpy() / scale
        weights = table[count].to_numpy() if count else np.ones(len(values))
        inside = (values > 0) & (values <= LENGTHS[-1])
        places = np.searchsorted(LENGTHS, values[inside])
        shares = np.bincount(places, weights=weights[inside], minlength=len(LENGTHS)).astype(np.float64)
        batches = np.random.default_rng(seed).dirichlet(np.ones(len(BATCHES)) * 3)
        counts = np.round(np.outer(batches, shares / shares.sum()) * 100_000).astype(np.int64)
        sizes = np.array([[b, s] for b in BATCHES for s in LENGTHS], dtype=np.int64)
        yield Arena.of(name, recorded(ENCODER), SizeHistogram(("batch", "seq"), sizes, counts.ravel()))


def ranker_arenas(seed: int, traces: Path | None) -> Iterator[Arena]:
    source = recorded(RANKER)
    sizes = source.measure(source.candidates()[0], np.zeros((0, 1), np.int64)).curve(Mode.ENQUEUE).sizes  # type: ignore[union-attr]
    generator = np.random.default_rng(seed)
    doublings = np.log2(sizes[:, 0])
    for name, middle, width in (("small", 2, 2), ("bulk", 10, 2), ("middle", 6, 2), ("uniform", 6, 99)):
        shares = np.exp(-(((doublings - middle) / width) ** 2)) * generator.gamma(8, 1 / 8, len(sizes))
        counts = np.round(shares / shares.sum() * 100_000).astype(np.int64)
        yield Arena.of(name, source, SizeHistogram(("batch",), sizes, counts))


def made_up_arenas(seed: int, traces: Path | None) -> Iterator[Arena]:
    for axis_count, per_axis in ((1, 12), (2, 12), (3, 5)):
        opts = grid_opts(axis_count, per_axis)
        source = SyntheticSource(axis_count, seed, opts=opts)
        yield Arena.of(f"{axis_count} axes, {len(opts)} opts", source, made_up_traffic(axis_count, seed))


ARENAS: dict[str, Callable[[int, Path | None], Iterator[Arena]]] = {
    "encoder": encoder_arenas,
    "ranker": ranker_arenas,
    "made-up": made_up_arenas,
}


def row(name: str, counts: Sequence[int]) -> str:
    median, ninth = np.quantile(counts, (0.5, 0.9))
    return f"{name:34s} {median:6.1f} {ninth:6.1f} {max(counts):5d}"


def curve_text(regrets: NDArray[np.float64]) -> str:
    return " ".join(f"{100 * value:5.1f}" for value in np.median(regrets, axis=0))


def benchmark(
    grid: str, samplers: Sequence[str], profiles: Sequence[int], seeds: int, traces: Path | None
) -> None:
    arenas = [list(ARENAS[grid](seed, traces)) for seed in range(seeds)]
    builds = max(len(a.problem.space.opts) for a in arenas[0])
    print(f"# {grid}: {seeds} seeds x {', '.join(a.name for a in arenas[0])}")
    for most in profiles:
        print(f"\nK = {most}{'builds until within 2 %: median  90th  most':>60s}")
        for place in range(len(arenas[0])) if grid == "made-up" else (None,):
            chosen = [
                (s, a) for s, many in enumerate(arenas) for a in (many if place is None else [many[place]])
            ]
            label = "" if place is None else f" {arenas[0][place].name}"
            orders = max(1, (RANDOM_ORDERS if builds < 50 else 20) // seeds)
            drawn = [random_order(a, most, 1000 * s + i) for s, a in chosen for i in range(orders)]
            print(row(f"random order{label}", drawn), flush=True)
            for sampler in samplers:
                values = [searched(a, sampler, most, s, builds) for s, a in chosen]
                bests = [a.best(most) for _, a in chosen]
                counts = [reached_after(v, b) for v, b in zip(values, bests, strict=True)]
                print(row(f"{sampler}{label}", counts), flush=True)
                shown = min(SHOWN_BUILDS, *(len(v) for v in values))
                regrets = np.array(
                    [[x / b - 1 for x in v[:shown]] for v, b in zip(values, bests, strict=True)]
                )
                print(f"    median regret in % after 1, 2, ... builds: {curve_text(regrets)}", flush=True)
    if grid != "made-up":
        found = [rules_regret(a) for many in arenas for a in many]
        print("\nregret of a single profile by rule, in %: median and 90th percentile")
        for name in SINGLE_PROFILE_RULES:
            median, ninth = np.quantile([100 * f[name] for f in found], (0.5, 0.9))
            print(f"{name:34s} {median:6.1f} {ninth:6.1f}")


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("grid", choices=ARENAS, nargs="?", default="encoder")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--samplers", default="curves,tpe,random")
    parser.add_argument("--profiles", default="1,2,3")
    parser.add_argument("--traces", type=Path)
    given = parser.parse_args()
    counts = [int(count) for count in given.profiles.split(",")]
    benchmark(given.grid, given.samplers.split(","), counts, given.seeds, given.traces)
