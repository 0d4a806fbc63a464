"""What a trial of the search costs besides building and measuring, with 5,000 distinct sizes in the traffic.

    python tests/benchmarks/overhead.py [--builds N]

Processor seconds of this process, so that other work on the machine does not count; the made-up engines
answer at once.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np

from tests.search.problems import judge_of
from tests.search.synthetic import SyntheticSource
from tuner.search.search import Problem, SearchSettings, search
from tuner.search.space import space_of_traffic
from tuner.traffic.histogram import SizeHistogram

DISTINCT = 5_000


def many_sizes(seed: int = 0) -> SizeHistogram:
    """Traffic of two axes with exactly so many distinct sizes."""
    generator = np.random.default_rng(seed)
    rows = np.unique(generator.integers(1, 200, (3 * DISTINCT, 2)) * [1, 4], axis=0)
    chosen = generator.permutation(len(rows))[:DISTINCT]
    return SizeHistogram(("a", "b"), rows[chosen], generator.integers(1, 100, DISTINCT))


def seconds_by_trial(builds: int, objective: str) -> list[float]:
    histogram = many_sizes()
    source = SyntheticSource(2)
    space = space_of_traffic(histogram, (histogram.smallest, histogram.largest), model=source.model)
    problem = Problem(space, judge_of(histogram, objective), (), "overhead")
    marks = [time.process_time()]
    with tempfile.TemporaryDirectory() as folder:
        settings = SearchSettings(builds=builds, stops_early=False)
        search(
            problem,
            settings,
            source,
            f"sqlite:///{folder}/t.db",
            lambda trial, left: marks.append(time.process_time()),
        )
    return np.diff(marks).tolist()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--builds", type=int, default=32)
    given = parser.parse_args()
    for objective in ("gpu_time", "service_p99"):
        spent = seconds_by_trial(given.builds, objective)[1:]
        print(
            f"{objective}: {given.builds} trials, {DISTINCT} sizes: median {np.median(spent):.3f} s, "
            f"most {max(spent):.3f} s of processor time a trial"
        )
