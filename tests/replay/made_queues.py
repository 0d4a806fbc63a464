"""Arrivals and service times made by hand or from a seed, for the tests of replay."""

from __future__ import annotations

import dataclasses

import numpy as np

from tuner.replay.batcher import Batcher
from tuner.replay.changes import ChangeCosts
from tuner.replay.queueing import Server, Service
from tuner.replay.running import Running
from tuner.replay.service_time import executed_sizes
from tuner.traffic.arrivals import ArrivalPart, Arrivals, arrivals_of


def at_times(times_s, seqs=None, batches=None):
    """Arrivals over (batch, seq) at the given seconds."""
    times = np.asarray(times_s, dtype=np.float64)
    seq = np.ones(len(times), np.int64) if seqs is None else np.asarray(seqs)
    batch = np.ones(len(times), np.int64) if batches is None else np.asarray(batches)
    return arrivals_of(("batch", "seq"), [ArrivalPart("made", times, np.stack([batch, seq], axis=1))])


def poisson(count, rate_rps, seed=0):
    gaps = np.random.default_rng(seed).exponential(1 / rate_rps, count)
    return at_times(np.cumsum(gaps))


def service_of(arrivals: Arrivals, max_batch, milliseconds):
    """Service times from a function of (seq, batch); batches from 1 to `max_batch`."""
    sizes = executed_sizes(arrivals, "batch", max_batch)
    latency = np.full((1, sizes.cell_count, max_batch + 1), np.nan)
    for cell, (seq,) in enumerate(sizes.cell_values().tolist()):
        for batch in range(1, max_batch + 1):
            latency[0, cell, batch] = milliseconds(seq, batch)
    return Service(sizes, latency)


def charging(service: Service, size_ms, profile_ms, profile_of=lambda seq, batch: 0):
    """The same service where changes cost something; `profile_of` (seq, batch) is a profile's index."""
    index = np.zeros(service.latency_ms.shape, np.int64)
    for cell, (seq,) in enumerate(service.sizes.cell_values().tolist()):
        for batch in range(1, service.sizes.max_batch + 1):
            index[:, cell, batch] = profile_of(seq, batch)
    changes = ChangeCosts(size_ms=size_ms, profile_ms=profile_ms)
    return dataclasses.replace(service, profile_index=index, changes=changes)


def lives(arrivals: Arrivals, service: Service, server: Server):
    """Start and end of each request in seconds."""
    running = Running(arrivals, service, server)
    running.load(arrivals.arrival_s, arrivals.size_rows)
    running.advance(np.inf)
    done = running.finished()
    return done.start_s, done.finish_s


def starts_ms(times_ms, batcher: Batcher, milliseconds, *, contexts=1, seqs=None, batches=None):
    """When each request starts, in ms, for arrivals in ms; the first arrival has to be at 0."""
    arrivals = at_times(np.asarray(times_ms) / 1000, seqs, batches)
    service = service_of(arrivals, batcher.max_batch, milliseconds)
    start_s, _ = lives(arrivals, service, Server(batcher=batcher, contexts=contexts))
    return [round(float(value) * 1000, 6) for value in start_s]
