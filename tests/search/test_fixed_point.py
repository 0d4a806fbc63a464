"""Set and batches settle on the recorded grids; a cycle is told, and its better member taken."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tests.replay.made_queues import at_times
from tuner.axes import Size
from tuner.errors import NothingFeasible, TunerError
from tuner.measurements.flat_parquet import import_flat
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.store import open_store
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.replay.batcher import FIFO, Batcher, triton_default
from tuner.replay.changes import ChangeCosts
from tuner.replay.queueing import Server
from tuner.replay.response import ResponseLimit
from tuner.replay.service_time import executed_sizes
from tuner.search.executed_sets import ProfileCells, best_executed_sets, profile_cells
from tuner.search.fixed_point import BatchingProblem, fixed_point, judge
from tuner.traffic.arrivals import ArrivalPart, arrivals_of

LOGS = Path(__file__).parents[2] / "sample_logs"


def recorded(name):
    with open_store("sqlite://") as store:
        flat = import_flat(store, str(LOGS / name))
        return RecordedSource(flat.model, flat.engines)


def whole_curves(source):
    widest = max(source.candidates(), key=lambda p: p.max.work).max
    profiles = [p for p in source.candidates() if p.max == widest]
    return [source.measure(p, np.zeros((0, len(p.axes)), np.int64)).curve(Mode.ENQUEUE) for p in profiles]


def chat_arrivals(rate_rps, seed, count=4000):
    """Lengths of a chat service on the recorded grid (see the measurements' README), Poisson arrivals."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice(
        [16, 32, 64, 128, 256, 384, 512], count, p=[0.009, 0.459, 0.364, 0.055, 0.045, 0.032, 0.036]
    )
    return at_times(np.cumsum(rng.exponential(1 / rate_rps, count)), seqs=lengths)


@pytest.mark.parametrize("rate_rps", [200, 1500, 4000])
@pytest.mark.parametrize("unlike", ["separate", "pad"])
@pytest.mark.parametrize("nearest_opt", [True, False])
def test_the_encoder_grid_converges(rate_rps, unlike, nearest_opt):
    source = recorded("h200_trt86_encoder6.parquet")
    arrivals = chat_arrivals(rate_rps, seed=rate_rps)
    sizes = executed_sizes(arrivals, "batch", 64)
    cells = profile_cells(sizes, whole_curves(source), source.model, nearest_opt=nearest_opt)
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99")
    for batcher in (
        triton_default(64, unlike),
        Batcher(max_batch=32, max_queue_delay_microseconds=2000, unlike_shapes=unlike),
    ):
        found = fixed_point(problem, Server(batcher=batcher))
        assert found.outcome == "converged"
        again = best_executed_sets(cells, found.judged.executed, 3, batcher.max_batch)
        assert found.judged.rows in [best.rows for best in again]


@pytest.mark.parametrize("rate_rps", [5_000, 50_000, 200_000])
def test_the_ranker_grid_converges(rate_rps):
    source = recorded("h200_trt86_ranker.parquet")
    times = np.cumsum(np.random.default_rng(2).exponential(1 / rate_rps, 20_000))
    arrivals = arrivals_of(("batch",), [ArrivalPart("made", times, np.ones((20_000, 1), np.int64))])
    sizes = executed_sizes(arrivals, "batch", 256)
    cells = profile_cells(sizes, whole_curves(source), source.model, nearest_opt=True)
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99")
    assert fixed_point(problem, Server(batcher=triton_default(256))).outcome == "converged"


def made_cells(arrivals, max_batch, *tables):
    """A cell table of profiles whose latencies are functions of (seq, batch)."""
    sizes = executed_sizes(arrivals, "batch", max_batch)
    latency = np.full((len(tables), sizes.cell_count, max_batch + 1), np.nan)
    for row, table in enumerate(tables):
        for cell, (seq,) in enumerate(sizes.cell_values().tolist()):
            for batch in range(1, max_batch + 1):
                latency[row, cell, batch] = table(seq, batch)
    low, high = Size.of(batch=1, seq=1), Size.of(batch=64, seq=2)
    opts = [Size.of(batch=row + 1, seq=1) for row in range(len(tables))]
    profiles = ProfileSet(tuple(OptimizationProfile(low, opt, high) for opt in opts))
    return ProfileCells(sizes, profiles, latency, None)


def test_a_cycle_is_told_and_the_better_member_taken():
    # Profile 0 wins while every request runs alone; but on it the long requests let batches form, at which
    # it is terrible, so that profile 1 wins; on which every request runs alone.
    times = 0.013 * np.arange(1100)
    arrivals = at_times(times, seqs=[2 if row % 11 == 10 else 1 for row in range(1100)])
    cells = made_cells(
        arrivals,
        8,
        lambda seq, batch: 30.0 if seq == 2 else (10.0 if batch == 1 else 60.0),
        lambda seq, batch: 12.0 if seq == 2 else 12.5,
    )
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99", max_profiles=1)
    server = Server(batcher=triton_default(8))
    found = fixed_point(problem, server)
    assert found.outcome == "cycle"
    assert found.judged.rows == (1,)
    assert found.judged.value < judge(problem, server, (0,)).value


@pytest.mark.parametrize("is_nearest", [False, True])
def test_the_service_of_a_set_names_the_profile_of_each_entry(is_nearest):
    arrivals = at_times([0.0, 1.0], seqs=[1, 2])
    cells = made_cells(arrivals, 2, lambda seq, batch: 10.0 * seq, lambda seq, batch: 15.0)
    if is_nearest:  # the second profile is nearer to batches of 2, the first to those of 1
        distances = np.abs(np.arange(3)[None] - np.array([[1], [2]]))[:, None].repeat(2, axis=1)
        cells = dataclasses.replace(cells, distances=distances.astype(float))
    costly = dataclasses.replace(cells, changes=ChangeCosts(size_ms=1.0, profile_ms=4.0))
    service = costly.service((0, 1))
    by_batch, by_seq = [[0, 1], [0, 1]], [[0, 0], [1, 1]]
    assert service.profile_index[0, :, 1:].tolist() == (by_batch if is_nearest else by_seq)
    assert service.changes == costly.changes
    one = costly.service((1,))
    assert one.profile_index is None
    assert one.latency_ms[0, :, 1:].tolist() == [[15.0, 15.0], [15.0, 15.0]]


def test_a_set_is_judged_with_what_its_changes_cost():
    arrivals = at_times([0.0, 1.0, 2.0], seqs=[1, 2, 1])
    cells = made_cells(arrivals, 1, lambda seq, batch: 10.0 * seq, lambda seq, batch: 15.0)
    costly = dataclasses.replace(cells, changes=ChangeCosts(size_ms=1.0, profile_ms=8.0))
    server = Server(batcher=FIFO)

    def slowest(table, rows):
        problem = BatchingProblem(arrivals=arrivals, cells=table, objective="response_p99")
        return judge(problem, server, rows).value

    assert slowest(cells, (0, 1)) == pytest.approx(15.0)
    assert slowest(costly, (0, 1)) == pytest.approx(23.0)
    assert slowest(costly, (1,)) == pytest.approx(16.0)
    assert slowest(costly.of([1]), (0,)) == pytest.approx(16.0)


def test_one_more_profile_has_to_be_worth_it():
    arrivals = at_times([0.0, 1.0, 2.0], seqs=[1, 1, 2])
    cells = made_cells(arrivals, 1, lambda seq, batch: 10.0, lambda seq, batch: 9.99 if seq == 2 else 50.0)
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99")
    assert fixed_point(problem, Server(batcher=FIFO)).judged.rows == (0,)


def test_a_batch_that_no_set_serves_is_not_feasible():
    arrivals = at_times([0.0, 1.0])
    cells = made_cells(arrivals, 4, lambda seq, batch: 10.0 if batch < 3 else np.nan)
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99")
    assert cells.largest_batch() == 2
    with pytest.raises(NothingFeasible, match="serves every batch up to 4; limit it with --max-batch"):
        fixed_point(problem, Server(batcher=triton_default(4)))


def test_capacity_and_goodput_need_a_limit():
    arrivals = at_times([0.0, 1.0])
    cells = made_cells(arrivals, 1, lambda seq, batch: 10.0)
    with pytest.raises(TunerError, match="--objective capacity is judged under a limit"):
        BatchingProblem(arrivals=arrivals, cells=cells, objective="capacity")
    with pytest.raises(TunerError, match="--objective is 'gpu_time'; with a batcher these are accepted"):
        BatchingProblem(arrivals=arrivals, cells=cells, objective="gpu_time")


def test_overload_is_worse_than_any_response_time():
    arrivals = at_times(np.arange(400) * 0.01)
    cells = made_cells(arrivals, 1, lambda seq, batch: 20.0, lambda seq, batch: 9.0)
    problem = BatchingProblem(
        arrivals=arrivals, cells=cells, objective="response_p99", limit=ResponseLimit(99, 20.0)
    )
    assert (
        judge(problem, Server(batcher=FIFO), (0,)).value
        > 1e9
        > judge(problem, Server(batcher=FIFO), (1,)).value
    )
