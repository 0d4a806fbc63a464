"""The goals of the search on few seeds: builds until within 2 %, so that a change which spoils them shows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.regret import (
    encoder_arenas,
    made_up_arenas,
    random_order,
    reached_after,
    rules_regret,
    searched,
)

pytestmark = pytest.mark.slow
SEEDS = range(3)


@pytest.mark.parametrize(("profiles", "median"), [(1, 3), (2, 5), (3, 6)])
def test_few_builds_come_near_the_best_set_on_the_recorded_encoder(profiles: int, median: int) -> None:
    counts = [
        reached_after(searched(arena, "curves", profiles, seed, 16), arena.best(profiles))
        for seed in SEEDS
        for arena in encoder_arenas(seed, None)
    ]
    assert np.median(counts) <= median
    assert np.quantile(counts, 0.9) <= 9


@pytest.mark.parametrize("place", [0, 1, 2])
def test_few_builds_come_near_the_best_set_of_made_up_engines(place: int) -> None:
    profiles = 2
    arenas = [list(made_up_arenas(seed, None))[place] for seed in SEEDS]
    counts = [
        reached_after(searched(arena, "curves", profiles, seed, 20), arena.best(profiles))
        for seed, arena in zip(SEEDS, arenas, strict=True)
    ]
    drawn = [random_order(arena, profiles, seed) for arena in arenas for seed in range(5)]
    goal = np.median(drawn) / 2 + 1 if place == 0 else max(profiles + 4, np.median(drawn) / 10)
    assert np.median(counts) <= goal


def test_rules_lie_further_off_than_the_search() -> None:
    found = [rules_regret(arena) for seed in SEEDS for arena in encoder_arenas(seed, None)]
    assert np.median([one["max"] for one in found]) > 0.1
