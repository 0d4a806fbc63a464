"""Joint tuning of a batcher and the profiles behind it, on a recorded grid."""

from __future__ import annotations

import numpy as np
import pytest

from tests.search.test_fixed_point import chat_arrivals, recorded, whole_curves
from tuner.errors import TunerError
from tuner.replay.concurrency import SHARED
from tuner.replay.response import ResponseLimit
from tuner.replay.service_time import executed_sizes
from tuner.search.batching import BatcherSpace, default_batcher, tune_jointly
from tuner.search.executed_sets import profile_cells
from tuner.search.fixed_point import BatchingProblem, fixed_point


@pytest.fixture(scope="module")
def problem():
    source = recorded("h200_trt86_encoder6.parquet")
    arrivals = chat_arrivals(2500, seed=1)
    cells = profile_cells(
        executed_sizes(arrivals, "batch", 64), whole_curves(source), source.model, nearest_opt=True
    )
    return BatchingProblem(
        arrivals=arrivals, cells=cells, objective="capacity", limit=ResponseLimit(99, 10.0)
    )


SPACE = BatcherSpace(largest_batch=64, concurrency=SHARED, unlike_shapes="pad", largest_delay_us=4000)


def test_joint_tuning_is_never_worse_than_tritons_defaults_and_the_same_seed_gives_the_same(problem):
    default = fixed_point(problem, SPACE.server(default_batcher(SPACE)))
    tuned = tune_jointly(problem, SPACE, trials=14, seed=3)
    assert tuned.best.found.judged.value <= default.judged.value
    again = tune_jointly(problem, SPACE, trials=14, seed=3)
    assert [t.batcher for t in again.trials] == [t.batcher for t in tuned.trials]
    assert again.best.batcher == tuned.best.batcher


def test_equal_settings_are_tried_once(problem):
    space = BatcherSpace(largest_batch=1, concurrency=SHARED, largest_delay_us=0)
    assert len(tune_jointly(problem, space, trials=6).trials) == 1


def test_preferred_sizes_lie_inside_the_batch():
    for name in ("none", "half", "quarter", "quarter and half"):
        for batch in SPACE.max_batches:
            preferred = SPACE.batcher(batch, name, 0).preferred_batch_size
            assert all(1 < size < batch for size in preferred)


def test_delays_rise_from_none_to_the_limit():
    delays = SPACE.delays_us
    assert delays[0] == 0
    assert (np.diff(delays) > 0).all()
    assert 100 in delays
    assert delays[-1] <= 4000


def test_nothing_served_is_an_error(problem):
    with pytest.raises(TunerError, match="no measured profile serves even a batch of 1"):
        tune_jointly(problem, BatcherSpace(largest_batch=0, concurrency=SHARED), trials=1)
