"""Plays the same arrivals through a real Triton server and through our replay, and compares the two."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.replay.made_queues import at_times, service_of
from tuner.measurements.flat_parquet import import_flat
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.store import open_store
from tuner.replay.batcher import Batcher
from tuner.replay.concurrency import independent
from tuner.replay.queueing import Server, replay

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TRACE = next(
    (
        file
        for folder in (ROOT, *ROOT.parents)
        if (file := folder / "shared" / "traces" / "azure_llm_2023_conv.parquet").is_file()
    ),
    None,
)
INTERPRETER = os.environ.get("TUNER_TRITON_PYTHON")
"""An interpreter that has nvidia-pytriton; it pins an older numpy than ours, hence one of its own."""

SLOWED_DOWN = 100.0
"""Service times are stretched by this, so that a server on a few CPU cores keeps up with the sleeps."""
MAX_BATCH = 16


@dataclass(frozen=True)
class Case:
    """One configuration of the server and the rate at which requests come."""

    name: str
    batcher: Batcher
    rate_rps: float
    instances: int = 1
    lengths: tuple[int, ...] = (1,)
    is_dynamic: bool = False
    request_count: int = 800


DELAY_US = 125_000
LONG_DELAY_US = 200_000

CASES = (
    Case("no delay", Batcher(max_batch=MAX_BATCH), 24),
    Case("no delay, two instances", Batcher(max_batch=MAX_BATCH), 42, instances=2),
    Case("delay 125 ms", Batcher(max_batch=MAX_BATCH, max_queue_delay_microseconds=DELAY_US), 18),
    Case("preferred 4, 8", Batcher(max_batch=MAX_BATCH, preferred_batch_size=(4, 8)), 30),
    Case(
        "preferred 4, 8, delay 200 ms",
        Batcher(max_batch=MAX_BATCH, preferred_batch_size=(4, 8), max_queue_delay_microseconds=LONG_DELAY_US),
        30,
    ),
    Case(
        "two shapes, delay 125 ms",
        Batcher(max_batch=MAX_BATCH, max_queue_delay_microseconds=DELAY_US),
        14,
        lengths=(1, 1, 1, 2),
        is_dynamic=True,
    ),
)


@dataclass(frozen=True)
class Compared:
    """Triton's figures and ours; times in ms, the server's own constant overhead taken off."""

    name: str
    p50_ms: tuple[float, float]
    p99_ms: tuple[float, float]
    mean_batch: tuple[float, float]

    @property
    def errors(self) -> tuple[float, float, float]:
        pairs = (self.p50_ms, self.p99_ms, self.mean_batch)
        return tuple(ours / theirs - 1 for theirs, ours in pairs)


def service_ms() -> list[float]:
    """Latency of batches 1 to 16 at 128 tokens in the recorded encoder engine with opt 16x128, stretched."""
    with open_store("sqlite://") as store:
        flat = import_flat(store, str(ROOT / "sample_logs" / "h200_trt86_encoder6.parquet"))
        source = RecordedSource(flat.model, flat.engines)
    profile = next(p for p in source.candidates() if p.opt.short == "16x128" and p.max.short == "64x512")
    sizes = np.array([[batch, 128] for batch in range(1, MAX_BATCH + 1)], dtype=np.int64)
    curve = source.measure(profile, sizes).curve(Mode.ENQUEUE)
    return [SLOWED_DOWN * float(value) for value in curve.latencies(sizes)[0]]


def arrival_times(case: Case) -> np.ndarray:
    """A piece of the conversation trace at the case's rate; the like of it from a seed where it is absent."""
    if TRACE is not None:
        import pyarrow.parquet as parquet

        stamps = parquet.read_table(TRACE, columns=["TIMESTAMP"])["TIMESTAMP"].to_numpy()
        times = (stamps - stamps[0]).astype("timedelta64[ns]").astype(np.int64) / 1e9
        times = times[2000 : 2000 + case.request_count]
    else:
        # Gamma gaps with the trace's coefficient of variation, 1.09.
        shape = 1 / 1.09**2
        times = np.cumsum(np.random.default_rng(1).gamma(shape, 1 / shape, case.request_count))
    times = times - times[0]
    return times * (case.request_count / case.rate_rps / times[-1])


LATE_S = 0.005
"""A wait that comes back later than this was held up by other work on the machine."""
LARGEST_LATE_SHARE = 0.005
ATTEMPTS = 4


def compare(case: Case) -> Compared:
    """Run the case on a real server, again where other work on the machine disturbed it.

    AssertionError with the server's words where it does not start, and where no attempt was undisturbed.
    """
    disturbed = []
    for _ in range(ATTEMPTS):
        seen, latency, lengths = _run(case)
        late = float(np.mean([late > LATE_S for _, _, late in seen["executions"]]))
        if late <= LARGEST_LATE_SHARE:
            return _laid_side_by_side(case, seen, latency, lengths)
        disturbed.append(f"{late:.1%}")
    raise AssertionError(
        f"{case.name}: other work on this machine held up {', '.join(disturbed)} of the executions by more "
        f"than {1000 * LATE_S:g} ms; run the check on a quiet machine"
    )


def _run(case: Case) -> tuple[dict, list[float], np.ndarray]:
    times, latency = arrival_times(case), service_ms()
    lengths = np.resize(case.lengths, case.request_count)
    job = {
        "preferred": list(case.batcher.preferred_batch_size),
        "delay_us": case.batcher.max_queue_delay_microseconds,
        "max_batch": case.batcher.max_batch,
        "is_dynamic": case.is_dynamic,
        "instances": case.instances,
        "service_s": [0.0, *(value / 1000 for value in latency)],
        "times_s": times.tolist(),
        "lengths": lengths.tolist(),
    }
    done = subprocess.run(
        [str(INTERPRETER), str(HERE / "client.py")],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), latency, lengths


def _laid_side_by_side(case: Case, seen: dict, latency: list[float], lengths: np.ndarray) -> Compared:
    occupied_ms = 1000 * float(np.median(seen["occupied_s"]))
    around_ms = max(0.0, 1000 * float(np.median(seen["instant_s"])) - occupied_ms)
    sent = np.array(seen["sent_s"])
    theirs = 1000 * (np.array(seen["answered_s"]) - sent) - around_ms
    batches = [batch for _, batch, _ in seen["executions"]]

    arrivals = at_times(sent, seqs=lengths)
    unlike = Batcher(
        max_batch=case.batcher.max_batch,
        preferred_batch_size=case.batcher.preferred_batch_size,
        max_queue_delay_microseconds=case.batcher.max_queue_delay_microseconds,
        unlike_shapes="separate" if case.is_dynamic else "pad",
    )
    server = Server(batcher=unlike, contexts=case.instances, concurrency=independent(case.instances))
    service = service_of(arrivals, MAX_BATCH, lambda seq, batch: latency[batch - 1] + occupied_ms)
    ours = replay(arrivals, service, server)
    return Compared(
        case.name,
        (float(np.quantile(theirs, 0.5, method="inverted_cdf")), ours.response_ms[50.0]),
        (float(np.quantile(theirs, 0.99, method="inverted_cdf")), ours.response_ms[99.0]),
        (len(sent) / len(batches), ours.mean_batch),
    )


def table(rows: list[Compared]) -> str:
    lines = [
        "| server | P50 ms: Triton / ours | P99 ms: Triton / ours | mean batch: Triton / ours | errors |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        errors = ", ".join(f"{100 * e:+.1f} %" for e in row.errors)
        lines.append(
            f"| {row.name} | {row.p50_ms[0]:.1f} / {row.p50_ms[1]:.1f} | {row.p99_ms[0]:.1f} / "
            f"{row.p99_ms[1]:.1f} | {row.mean_batch[0]:.2f} / {row.mean_batch[1]:.2f} | {errors} |"
        )
    return "\n".join(lines)
