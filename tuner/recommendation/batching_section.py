"""The section `batching` of the document: the server that was chosen, its replay, and others beside it."""

from __future__ import annotations

import math
from typing import Any

from tuner.recommendation.batched import Batching, ServedBy
from tuner.replay.batcher import Batcher
from tuner.replay.capacity import Capacity
from tuner.replay.response import RESPONSE_PERCENTS, Charged, QueueReplay
from tuner.traffic.histogram import SizeHistogram

Json = dict[str, Any]
MOST_EXECUTED = 200
"""Executed sizes that the document lists for a server."""


def batcher_settings(batching: Batching | None) -> Json | None:
    """What a server is configured with; None without a batcher, and for one that executes requests alone."""
    if batching is None or batching.chosen.batcher.kind != "triton":
        return None
    batcher = batching.chosen.batcher
    return {
        "max_batch": batcher.max_batch,
        "preferred_batch_size": list(batcher.preferred_batch_size),
        "max_queue_delay_microseconds": batcher.max_queue_delay_microseconds,
        "unlike_shapes": batcher.unlike_shapes,
        "instance_count": batching.server.contexts,
    }


def batching_section(batching: Batching | None) -> Json | None:
    """JSON-ready; None where requests were not batched. The batcher's keys are those of Triton."""
    if batching is None:
        return None
    concurrency = batching.server.concurrency
    return {
        **_batcher(batching.chosen.batcher),
        "instance_count": batching.server.contexts,
        "deployment": batching.chosen.deployment,
        "concurrency": list(concurrency.total_rates) if concurrency.is_measured else None,
        "objective": batching.objective,
        "limit": None if batching.limit is None else str(batching.limit),
        "load": _rounded(batching.load),
        "arrival_rate_rps": _rounded(batching.arrival_rate_rps),
        "replay": _replay(batching.chosen.replay),
        "capacity": _capacity(batching.chosen.capacity),
        "servers": [server_section(served) for served in batching.others],
        "fixed_point": {
            "outcome": batching.outcome,
            "iterations": batching.iterations,
            "batchers_tried": batching.trial_count,
            "cycles": batching.cycle_count,
        },
        "largest_rounding": _rounded(batching.largest_rounding),
        "calibration": _calibration(batching),
        "client_routing": _client_routing(batching),
        "notes": list(batching.notes),
    }


def _batcher(batcher: Batcher) -> Json:
    return {
        "batcher": batcher.kind,
        "max_batch_size": batcher.max_batch,
        "preferred_batch_size": list(batcher.preferred_batch_size),
        "max_queue_delay_microseconds": batcher.max_queue_delay_microseconds,
        "unlike_shapes": batcher.unlike_shapes,
    }


def server_section(served: ServedBy) -> Json:
    """One server with its replay, JSON-ready."""
    return {
        "name": served.name,
        "opts": [profile.opt.as_dict() for profile in served.profiles],
        "judged_at": served.judged_at,
        **_batcher(served.batcher),
        "deployment": served.deployment,
        "replay": _replay(served.replay),
        "capacity": _capacity(served.capacity),
    }


def _replay(played: QueueReplay) -> Json:
    return {
        "requests": played.request_count,
        "overloaded": played.is_overloaded,
        **{f"response_{name}_ms": value for name, value in _percentiles(played.response_ms)},
        **{f"waiting_{name}_ms": value for name, value in _percentiles(played.waiting_ms)},
        "throughput_rps": _rounded(played.throughput_rps),
        "goodput_rps": _rounded(played.goodput_rps),
        "busy_share": _rounded(played.busy_share),
        "mean_batch": _rounded(played.mean_batch),
        "padding_ratio": _rounded(played.padding_ratio),
        "queue_lengths": list(played.queue_lengths),
        "executed": _executed(played.executed),
        **_charged(played.charged),
    }


def _charged(charged: Charged | None) -> Json:
    """What changes of size and profile cost; no key where they are free."""
    if charged is None:
        return {}
    return {
        "changes": {
            "size_ms": _rounded(charged.costs.size_ms),
            "profile_ms": _rounded(charged.costs.profile_ms),
            "size_share": _rounded(charged.size_share),
            "profile_share": _rounded(charged.profile_share),
        }
    }


def _executed(histogram: SizeHistogram) -> list[list[int]]:
    """The sizes that were executed most often, each as its values and the number of executions."""
    rows = sorted(histogram.heaviest(MOST_EXECUTED))
    return [[*histogram.sizes[row].tolist(), int(histogram.counts[row])] for row in rows]


def _percentiles(found: Any) -> list[tuple[str, float | None]]:
    return [(f"p{f'{p:g}'.replace('.', '')}", _rounded(found.get(p))) for p in RESPONSE_PERCENTS]


def _capacity(found: Capacity | None) -> Json | None:
    if found is None:
        return None
    return {
        "load": _rounded(found.load),
        "rate_rps": _rounded(found.rate_rps),
        "interval_rps": [_rounded(bound) for bound in found.interval_rps],
    }


def _client_routing(batching: Batching) -> list[Json] | None:
    if batching.client_routing is None:
        return None
    return [{"size": size.as_dict(), "profile": index} for size, index in batching.client_routing.items()]


def _calibration(batching: Batching) -> list[Json] | None:
    if batching.calibration is None:
        return None
    return [
        {"percent": percent, "observed_ms": _rounded(observed), "replayed_ms": _rounded(replayed)}
        for percent, observed, replayed in batching.calibration.quantiles
    ]


def _rounded(value: float | None) -> float | None:
    """Six significant digits; None for what is not known or has no bound."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")
