"""Simulated requests a second on one core: our replay beside the same queue in SimPy. Run it by hand:

    python -m tests.benchmarks.replay_speed [--stream]

`--stream` also plays 100 million requests that are never held at once.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from tests.replay.made_queues import at_times, service_of
from tuner.replay.batcher import FIFO, Batcher, triton_default
from tuner.replay.queueing import Server
from tuner.replay.running import Running

REQUESTS = 2_000_000
SIMPY_REQUESTS = 50_000
STREAMED = 100_000_000
PIECE = 2_000_000
MAX_BATCH = 16


def latency_ms(seq: int, batch: int) -> float:
    return 1.0 + 0.1 * batch


CASES = (
    ("fifo, load 0.7", Server(batcher=FIFO), 640.0),
    ("fifo, 4 contexts that share", Server(batcher=FIFO, contexts=4), 640.0),
    ("triton, no delay", Server(batcher=triton_default(MAX_BATCH)), 2000.0),
    (
        "triton, preferred 4 8, delay 2 ms",
        Server(
            batcher=Batcher(
                max_batch=MAX_BATCH, preferred_batch_size=(4, 8), max_queue_delay_microseconds=2000
            )
        ),
        2000.0,
    ),
    (
        "triton, no delay, 2 contexts that share",
        Server(batcher=triton_default(MAX_BATCH), contexts=2),
        2000.0,
    ),
)


def poisson_times(count: int, rate_rps: float) -> np.ndarray:
    return np.cumsum(np.random.default_rng(1).exponential(1 / rate_rps, count))


def ours(server: Server, times: np.ndarray) -> float:
    arrivals = at_times(times)
    service = service_of(arrivals, MAX_BATCH, latency_ms)
    running = Running(arrivals, service, server)
    running.load(arrivals.arrival_s, arrivals.size_rows)
    start = time.perf_counter()
    running.advance(np.inf)
    return len(times) / (time.perf_counter() - start)


def simpy_fifo(times: np.ndarray) -> float:
    """M/D/1 in SimPy: a process a request, one resource."""
    import simpy

    environment = simpy.Environment()
    gpu = simpy.Resource(environment)

    def request(at: float) -> Iterator[object]:
        yield environment.timeout(at)
        with gpu.request() as turn:
            yield turn
            yield environment.timeout(latency_ms(1, 1) / 1000)

    for at in times:
        environment.process(request(float(at)))
    start = time.perf_counter()
    environment.run()
    return len(times) / (time.perf_counter() - start)


def simpy_batched(times: np.ndarray) -> float:
    """Batches of whatever waits when the server is free, up to the maximum: Triton's defaults in SimPy."""
    import simpy

    environment = simpy.Environment()
    queue = simpy.Store(environment)

    def source() -> Iterator[object]:
        last = 0.0
        for at in times:
            yield environment.timeout(float(at) - last)
            last = float(at)
            yield queue.put(at)

    def server() -> Iterator[object]:
        while True:
            yield queue.get()
            batch = 1
            while batch < MAX_BATCH and queue.items:
                yield queue.get()
                batch += 1
            yield environment.timeout(latency_ms(1, batch) / 1000)

    environment.process(source())
    environment.process(server())
    start = time.perf_counter()
    environment.run(until=float(times[-1]) + 1)
    return len(times) / (time.perf_counter() - start)


def stream(server: Server, rate_rps: float) -> tuple[float, float, int]:
    """Requests a second, their mean response in ms and the peak memory in MiB, for a stream in pieces."""
    random = np.random.default_rng(2)
    few = at_times([0.0])
    service = service_of(few, MAX_BATCH, latency_ms)
    running = Running(few, service, server)
    start, clock, total, count = time.perf_counter(), 0.0, 0.0, 0
    for _ in range(STREAMED // PIECE):
        times = clock + np.cumsum(random.exponential(1 / rate_rps, PIECE))
        clock = float(times[-1])
        running.load(times, np.zeros(PIECE, dtype=np.int64))
        running.advance(clock)
        done = running.take_finished()
        total += float((done.finish_s - done.arrival_s).sum())
        count += len(done.finish_s)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return STREAMED / seconds, 1000 * total / count, peak


def main() -> None:
    for name, server, rate in CASES:
        ours(server, poisson_times(1000, rate))  # compiles, or reads what was compiled
        best = max(ours(server, poisson_times(REQUESTS, rate)) for _ in range(3))
        print(f"{name:45s} {best / 1e6:8.2f} million requests/s")
    alone = simpy_fifo(poisson_times(SIMPY_REQUESTS, 640.0))
    print(f"{'SimPy, fifo':45s} {alone / 1e6:8.3f} million requests/s")
    batched = simpy_batched(poisson_times(SIMPY_REQUESTS, 2000.0))
    print(f"{'SimPy, batches without delay':45s} {batched / 1e6:8.3f} million requests/s")
    if "--stream" in sys.argv:
        for name, server, rate in (CASES[0], CASES[2]):
            speed, response, peak = stream(server, rate)
            print(
                f"{STREAMED:,} streamed, {name}: {speed / 1e6:.2f} million requests/s with their making and "
                f"summing up, mean response {response:.3f} ms, {peak} MiB at most"
            )


if __name__ == "__main__":
    main()
