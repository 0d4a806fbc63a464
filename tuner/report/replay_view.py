"""What the replay of a document looks like: lines for a person, JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tuner.recommendation.document import score_json
from tuner.recommendation.replayed import Replayed
from tuner.recommendation.rounding import rounded
from tuner.replay.score import Score


def replay_json(found: Replayed) -> str:
    told = {
        "objective": found.settings.objective,
        "weight": found.settings.weight,
        "unit": "ms",
        "tune": score_json(found.evaluated.tune),
        "holdout": score_json(found.evaluated.holdout),
        "uncovered_share": rounded(found.uncovered),
    }
    return json.dumps(told, indent=2, allow_nan=False) + "\n"


def replay_lines(found: Replayed) -> Iterator[str]:
    yield f"{found.settings.objective} by {found.settings.weight}"
    for name, score in (("tuned part", found.evaluated.tune), ("held out", found.evaluated.holdout)):
        if score is not None:
            yield f"{name}: {_told(score)}"
    yield f"outside the profiles: {found.uncovered:.2%} of the requests"
    if found.coverage.uncovered_requests:
        yield f"not measured: {found.coverage.request_share:.2%} of the requests ({found.coverage.action})"


def _told(score: Score) -> str:
    return (
        f"{score.value:.4f} ms; service p50 {score.service_p50_ms:.4g}, p90 {score.service_p90_ms:.4g}, "
        f"p99 {score.service_p99_ms:.4g} ms; {score.requests_per_gpu_s:.5g} requests per GPU second"
    )
