"""Sizes that a client sends to models of their own."""

from __future__ import annotations

import numpy as np

from tests.replay.made_queues import at_times
from tests.search.test_fixed_point import made_cells
from tuner.replay.batcher import triton_default
from tuner.replay.queueing import Server
from tuner.search.client_routing import is_split, split_service
from tuner.search.fixed_point import BatchingProblem, judge


def long_and_short():
    """Every other request is eight times as long; padding makes the short ones pay for it."""
    arrivals = at_times(np.arange(600) * 0.002, seqs=[1 if row % 2 else 2 for row in range(600)])
    cells = made_cells(
        arrivals,
        8,
        lambda seq, batch: batch * (1.0 if seq == 1 else 9.0),
        lambda seq, batch: 2.0 + batch * (1.5 if seq == 1 else 3.0),
    )
    return arrivals, cells


def test_each_size_goes_where_its_batches_cost_least():
    arrivals, cells = long_and_short()
    executed = np.zeros((2, 9), np.int64)
    executed[:, 2] = 10
    service = split_service(cells, (0, 1), executed, arrivals)
    lanes = {int(size[1]): int(lane) for size, lane in zip(arrivals.sizes, service.lane_of_size, strict=True)}
    assert lanes == {1: 0, 2: 1}
    assert is_split(service, arrivals)


def test_sizes_that_all_go_one_way_are_not_split():
    arrivals, cells = long_and_short()
    executed = np.zeros((2, 9), np.int64)
    executed[:, 2] = 10
    assert not is_split(split_service(cells, (1,), executed, arrivals), arrivals)


def test_short_requests_are_not_padded_to_long_ones_once_they_are_sent_apart():
    arrivals, cells = long_and_short()
    problem = BatchingProblem(arrivals=arrivals, cells=cells, objective="response_p99")
    server = Server(batcher=triton_default(8, "pad"))
    one = judge(problem, server, (0, 1))
    apart = judge(problem, server, (0, 1), split_service(cells, (0, 1), one.executed, arrivals))
    assert one.replay.padding_ratio > 0
    assert apart.replay.padding_ratio == 0
