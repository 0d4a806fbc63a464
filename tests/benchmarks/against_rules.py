"""What the recommended set saves against the rule `max` on recorded latencies: the README's first table.

    python tests/benchmarks/against_rules.py [SERVEGEN_M_SMALL.parquet]

The mixes `small` and `large` are those of the measurements' notes: sequence lengths of a real trace up to
512, rounded up to the measured grid, times batches 1 to 64. With the trace itself at hand its histogram is
scored as it stands, cut at 512 tokens, for batches of 1 and of 64.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from tuner.measurements.opening import open_recorded
from tuner.measurements.store import open_store
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.search.search import SearchSettings
from tuner.settings import LogSettings
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.reading import read_traffic
from tuner.traffic.traffic import Traffic

ENCODER = Path(__file__).parents[2] / "sample_logs" / "h200_trt86_encoder6.parquet"
SEQ_SHARES = {16: 9, 32: 459, 64: 364, 128: 55, 256: 45, 384: 31, 512: 36}
BATCHES = (1, 2, 4, 8, 16, 32, 64)
MIXES = {"small batches": (50, 20, 10, 10, 5, 3, 2), "large batches": (5, 5, 10, 15, 20, 25, 20)}


def mix(shares: tuple[int, ...]) -> Traffic:
    rows = [(b, s, bw * sw) for b, bw in zip(BATCHES, shares, strict=True) for s, sw in SEQ_SHARES.items()]
    table = np.array(rows)
    histogram = SizeHistogram(("batch", "seq"), table[:, :2], table[:, 2])
    return Traffic(histogram=histogram, tune=histogram, row_count=len(histogram))


def trace(path: str, batch: int) -> Traffic:
    settings = LogSettings(logs=(path,), axes={"seq": "input_tokens", "batch": str(batch)}, count="count")
    with open_store("sqlite://") as store:
        return read_traffic(settings, open_recorded(store, str(ENCODER), None).model)


def row(name: str, traffic: Traffic) -> str:
    """Objective of the rule and of 1 to 3 profiles, in ms a request, and what the rule costs more."""
    cells = []
    with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/t.db") as store:
        source = open_recorded(store, str(ENCODER), None)
        for count in (1, 2, 3):
            settings = RecommendSettings(
                search=SearchSettings(max_profiles=count), profiles=count, cap={"seq": 512}
            )
            found = recommend(traffic, source, settings, store.url)
            rule, chosen = found.rules["max"], found.chosen
            assert rule.tune is not None
            assert chosen.tune is not None
            part = "tuned"
            ours, theirs = chosen.tune, rule.tune
            if chosen.holdout is not None and rule.holdout is not None:
                part, ours, theirs = "held out", chosen.holdout, rule.holdout
            mark = f" ({rule.judged_at})" if rule.judged_at else ""
            cells.append(
                f"{ours.gpu_time_ms:.4f} (max costs {theirs.gpu_time_ms / ours.gpu_time_ms - 1:+.0%})"
            )
    return f"| {name} | {part} | {theirs.gpu_time_ms:.4f}{mark} | {' | '.join(cells)} |"


def main() -> None:
    print("| traffic | scored on | rule max, ms a request | 1 profile | 2 profiles | 3 profiles |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, shares in MIXES.items():
        print(row(name, mix(shares)))
    for path in sys.argv[1:]:
        for batch in (1, 64):
            print(row(f"{Path(path).stem}, batch {batch}", trace(path, batch)))


if __name__ == "__main__":
    main()
