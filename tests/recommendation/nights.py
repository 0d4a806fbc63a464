"""Thirty nights of traffic on the recorded encoder, the job that runs each of them, and an oracle.

Night i's log is drawn from day i's distribution; what it decides serves day i + 1. The oracle knows day
i + 1 and may change every night.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.commands.running import ENCODER
from tuner.measurements.opening import read_recorded
from tuner.measurements.recorded import RecordedSource
from tuner.profiles.profile import ProfileSet
from tuner.recommendation.deployed import Deployed, curves_of, deployed_of, same_opts
from tuner.recommendation.document import as_document, document_text
from tuner.recommendation.json_place import parse_json
from tuner.recommendation.overnight import Night, recommend_overnight
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.replay.score import Judge, latency_table
from tuner.search.compose import best_sets
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Traffic

AXES = ("batch", "seq")
BATCHES = (1, 2, 4, 8, 16, 32, 64)
LENGTHS = (16, 32, 64, 128, 256, 384, 512)
GRID = np.array(list(itertools.product(BATCHES, LENGTHS)), dtype=np.int64)
SETTINGS = RecommendSettings()

Shares = np.ndarray
"""The share of each size of the grid among a day's requests."""


def day(bulk: float, length: float) -> Shares:
    """Interactive requests of one or a few around a length, and a share of bulk jobs four times as long."""
    interactive = _around(2.0, 0.8) * _around_length(length)
    jobs = _around(48.0, 0.5) * _around_length(4 * length)
    mixed = (1 - bulk) * interactive / interactive.sum() + bulk * jobs / jobs.sum()
    return np.asarray(mixed / mixed.sum())


def _around(batch: float, spread: float) -> np.ndarray:
    return np.exp(-((np.log(GRID[:, 0] / batch) / spread) ** 2) / 2)


def _around_length(length: float) -> np.ndarray:
    return np.exp(-((np.log(GRID[:, 1] / length) / 0.6) ** 2) / 2)


def log_of(shares: Shares, requests: int, random: np.random.Generator) -> Traffic:
    """One day's log: so many requests, the last 30 % of them held out."""
    parts = [
        SizeHistogram(AXES, GRID, random.multinomial(round(requests * share), shares)) for share in (0.7, 0.3)
    ]
    return Traffic(
        histogram=SizeHistogram.merged(parts),
        tune=parts[0],
        holdout=parts[1],
        holdout_by="time",
        row_count=requests,
    )


@dataclass(frozen=True)
class Ran:
    """What came of the nights: the sets that served each day, changes and mean regret."""

    sets: list[ProfileSet]
    searched: int
    regrets: list[float]

    @property
    def changes(self) -> int:
        return sum(not same_opts(a, b) for a, b in itertools.pairwise(self.sets))

    @property
    def regret(self) -> float:
        return float(np.mean(self.regrets))


def run_nights(days: list[Shares], requests: int, seed: int, folder: Path) -> Ran:
    """The nightly job on each day's log; the document travels as text, as it does in production."""
    random = np.random.default_rng(seed)
    source = read_recorded(str(ENCODER), None)
    deployed: Deployed | None = None
    sets, regrets, searched = [], [], 0
    for i, today in enumerate(days[:-1]):
        traffic = log_of(today, requests, random)
        searches: list[int] = []
        url = f"sqlite:///{folder}/night{seed}-{i}.db"
        night = Night(
            deployed=deployed,
            stored=source,
            stored_counts=lambda: (source.facts.build_count, source.facts.measurement_count),
        )
        found = recommend_overnight(traffic, night, SETTINGS, _search(traffic, source, url, searches))
        searched += len(searches)
        text = document_text(as_document(found))
        deployed = deployed_of(parse_json(text, f"night {i}"), AXES)
        sets.append(deployed.profiles)
        regrets.append(cost(deployed, source, days[i + 1]) / best_cost(source, days[i + 1]) - 1)
    return Ran(sets, searched, regrets)


def _search(traffic: Traffic, source: RecordedSource, url: str, searches: list[int]) -> Callable:
    def search() -> tuple:
        searches.append(1)
        return recommend(traffic, source, SETTINGS, url), source

    return search


def judge_of(shares: Shares) -> Judge:
    counts = np.round(shares * 1_000_000).astype(np.int64)
    histogram = SizeHistogram(AXES, GRID, counts)
    return Judge(histogram, histogram.counts.astype(float))


def cost(deployed: Deployed, source: RecordedSource, shares: Shares) -> float:
    """GPU time per request of a set on a day's true distribution, in ms; it covers the whole grid."""
    judge = judge_of(shares)
    curves = curves_of(deployed.profiles, source, judge.histogram.sizes, SETTINGS.search.mode)
    served = curves.served(deployed.profiles, judge, deployed.routing.route)
    return judge.value(served.latency_ms)


def best_cost(source: RecordedSource, shares: Shares) -> float:
    judge = judge_of(shares)
    measured = [source.measure(profile, judge.histogram.sizes) for profile in source.candidates()]
    table = latency_table([one.curve(SETTINGS.search.mode) for one in measured], judge.histogram)
    return min(found.value for found in best_sets(table, judge, SETTINGS.search.max_profiles))
