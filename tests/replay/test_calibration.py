"""Observed response times beside those of a replay."""

from __future__ import annotations

import numpy as np

from tests.replay.made_queues import at_times, poisson, service_of
from tuner.replay.batcher import FIFO
from tuner.replay.calibration import calibration
from tuner.replay.queueing import Server, replay

ONE = Server(batcher=FIFO)


def played(milliseconds=10.0):
    arrivals = at_times(np.arange(200) * 1.0)
    return replay(arrivals, service_of(arrivals, 1, lambda seq, batch: milliseconds), ONE)


def test_a_log_of_the_same_server_agrees():
    found = calibration(np.full(200, 10.5), played())
    assert found.agrees
    assert found.quantiles[0][0] == 50.0
    assert np.isclose(found.worst, 1 - 10 / 10.5)


def test_a_log_of_a_slower_server_does_not_agree():
    found = calibration(np.full(200, 14.0), played())
    assert not found.agrees
    assert np.isclose(found.worst, 1 - 10 / 14)


def test_nothing_observed_and_nothing_replayed_give_no_calibration():
    assert calibration(None, played()) is None
    arrivals = poisson(2000, 1000)
    overloaded = replay(arrivals, service_of(arrivals, 1, lambda seq, batch: 5.0), ONE)
    assert overloaded.is_overloaded
    assert calibration(np.full(2000, 10.0), overloaded) is None


def test_a_logged_response_of_nothing_is_no_observation():
    assert calibration(np.zeros(200), played()) is None
