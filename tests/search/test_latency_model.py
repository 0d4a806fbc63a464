"""Tests of the latency model and of the outlook that is drawn from it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.search.problems import ENCODER, RANKER, encoder_mix, judge_of, recorded
from tuner.measurements.measurement import Mode
from tuner.search.latency_model import LatencyModel
from tuner.search.outlook import condensed, look_out, worth
from tuner.traffic.histogram import SizeHistogram


def grid(file, reach: tuple[int, ...]):
    source = recorded(file)
    whole = [p for p in source.candidates() if p.max.values == reach]
    curves = [source.measure(p, np.zeros((0, len(reach)), np.int64)).curve(Mode.ENQUEUE) for p in whole]
    return np.array([p.opt.values for p in whole]), curves[0].sizes, np.stack([c.latency_ms for c in curves])


@pytest.mark.parametrize(("file", "reach", "known"), [(ENCODER, (64, 512), 5), (RANKER, (4096,), 3)])
def test_recorded_curves_lie_where_the_model_expects_them(file, reach, known: int) -> None:
    opts, sizes, latency = grid(file, reach)
    rows = np.linspace(0, len(opts) - 1, known).astype(int)
    paths = LatencyModel(opts, sizes).paths(rows, latency[rows], np.random.default_rng(0), 200)
    others = np.setdiff1d(np.arange(len(opts)), rows)
    low, high = np.quantile(paths[:, others], (0.025, 0.975), axis=0)
    inside = (latency[others] > low) & (latency[others] < high)
    assert inside.mean() > 0.8


def test_measured_curves_are_exact_in_every_draw() -> None:
    opts, sizes, latency = grid(RANKER, (4096,))
    paths = LatencyModel(opts, sizes).paths(np.array([0, 3]), latency[[0, 3]], np.random.default_rng(0), 8)
    assert np.allclose(paths[:, [0, 3]], latency[[0, 3]])


def test_a_missing_time_is_filled_by_what_others_have_there() -> None:
    opts, sizes, latency = grid(RANKER, (4096,))
    holed = latency[[0, 3]].copy()
    holed[1, 5] = np.nan
    paths = LatencyModel(opts, sizes).paths(np.array([0, 3]), holed, np.random.default_rng(0), 8)
    assert np.isfinite(paths).all()


def test_more_builds_leave_less_doubt() -> None:
    opts, sizes, latency = grid(ENCODER, (64, 512))
    model = LatencyModel(opts, sizes)
    spreads = []
    for known in (1, 4, 8):
        rows = np.arange(known)
        paths = model.paths(rows, latency[rows], np.random.default_rng(0), 100)
        spreads.append(np.log(paths[:, 8:]).std(axis=0).mean())
    assert spreads == sorted(spreads, reverse=True)


def test_condensed_traffic_keeps_its_requests_and_its_score() -> None:
    generator = np.random.default_rng(0)
    sizes = np.unique(generator.integers(1, 500, (5000, 2)), axis=0)
    histogram = SizeHistogram(("a", "b"), sizes, generator.integers(1, 50, len(sizes)))
    judge = judge_of(histogram)
    small = condensed(judge)
    assert len(small.histogram) <= 70
    assert small.requests.sum() == pytest.approx(judge.requests.sum())
    times = [np.log1p(j.histogram.work) for j in (judge, small)]
    assert small.value(times[1]) == pytest.approx(judge.value(times[0]), rel=0.05)


def test_few_sizes_are_not_condensed() -> None:
    judge = judge_of(encoder_mix("small"))
    assert condensed(judge) is judge


@pytest.mark.parametrize("objective", ["gpu_time", "service_p99"])
def test_the_outlook_expects_nothing_of_what_was_measured(objective: str) -> None:
    opts, sizes, latency = grid(ENCODER, (64, 512))
    judge = judge_of(SizeHistogram(("batch", "seq"), sizes, np.ones(len(sizes), np.int64)), objective)
    rows = [2, 9]
    outlook = look_out(opts, judge, (rows, latency[rows]), 2, np.random.default_rng(0))
    assert (outlook.expected[rows] == 0).all()
    assert (outlook.expected >= 0).all()
    assert outlook.best == pytest.approx(float(worth(judge, latency[rows].min(axis=0))))
    assert 0 <= outlook.gap < 1
    assert 0 <= outlook.chance <= 1


def test_with_everything_measured_nothing_is_left_to_gain() -> None:
    opts, sizes, latency = grid(RANKER, (4096,))
    judge = judge_of(SizeHistogram(("batch",), sizes, np.ones(len(sizes), np.int64)))
    outlook = look_out(opts, judge, (range(len(opts)), latency), 3, np.random.default_rng(0))
    assert (outlook.chance, outlook.gap) == (0.0, 0.0)
