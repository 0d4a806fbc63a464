"""The table of service times: every executable size has its cell, and rounding is small and known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.replay.made_queues import at_times
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.measurements.curve import Curve
from tuner.profiles.profile import OptimizationProfile
from tuner.replay.service_time import TICKS_PER_AXIS, executed_sizes, latency_cells, not_served


def curve(batches, seqs):
    low, high = Size.of(batch=batches[0], seq=seqs[0]), Size.of(batch=batches[-1], seq=seqs[-1])
    sizes = np.array([[batch, seq] for batch in batches for seq in seqs], dtype=np.int64)
    return Curve(OptimizationProfile(low, low, high), sizes, 1.0 + sizes.prod(axis=1).astype(float))


def test_each_size_stands_at_its_cell_and_batch():
    sizes = executed_sizes(at_times([0, 1, 2], seqs=[4, 8, 4]), "batch", 2)
    table = latency_cells(sizes, [curve([1, 2], [4, 8])])[0]
    assert sizes.rows().tolist() == [[1, 4], [2, 4], [1, 8], [2, 8]]
    assert table[:, 1:].tolist() == [[5.0, 9.0], [9.0, 17.0]]
    assert np.isnan(table[:, 0]).all()


def test_sizes_that_a_profile_lacks_have_no_time():
    sizes = executed_sizes(at_times([0, 1], seqs=[4, 16]), "batch", 4)
    table = latency_cells(sizes, [curve([1, 2], [4, 8])])[0]
    assert np.isfinite(table[0, 1:]).tolist() == [True, True, False, False]
    assert np.isnan(table[1]).all()


def test_few_values_are_kept_and_many_are_rounded_up_a_little():
    few = at_times([0, 1, 2], seqs=[3, 5, 9])
    assert executed_sizes(few, "batch", 1).largest_rounding(few) == 0.0
    many = at_times(np.arange(2000), seqs=np.arange(16, 2016))
    sizes = executed_sizes(many, "batch", 1)
    assert len(sizes.ticks[0]) <= TICKS_PER_AXIS
    assert sizes.ticks[0][-1] == 2015
    assert 0 < sizes.largest_rounding(many) < 0.1
    places = sizes.places(np.arange(16, 2016)[:, None])[:, 0]
    assert (sizes.ticks[0][places] >= np.arange(16, 2016)).all()


def test_two_axes_beside_the_batch_make_a_grid():
    sizes = executed_sizes(at_times([0, 1], seqs=[4, 8]), None, 7)
    assert sizes.max_batch == 1
    assert sizes.cell_values().tolist() == [[1, 4], [1, 8]]
    assert not_served(sizes, 1, 1) == Size.of(batch=1, seq=8)


def test_a_size_beyond_the_table_is_named():
    sizes = executed_sizes(at_times([0], seqs=[4]), "batch", 1)
    with pytest.raises(TunerError, match=r"size \[9\] of \['seq'\] is beyond the table"):
        sizes.places(np.array([[9]]))
