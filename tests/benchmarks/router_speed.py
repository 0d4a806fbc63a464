"""Prints what one routing decision costs: `python tests/benchmarks/router_speed.py [profile.json]`.

Sizes are drawn from a few thousand, as the token counts of a service are, so that most were seen before.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import tuner

CALLS = 1_000_000
DEFAULT = Path(__file__).parents[1] / "recommendation" / "profile_v1.json"


def main(path: str | Path) -> None:
    document = tuner.load(path)
    start = time.perf_counter()
    router = tuner.Router(document)
    made_ms = 1e3 * (time.perf_counter() - start)
    whole = document.profiles[-1].range
    bounds = list(zip(whole.min.values, whole.max.values, strict=True))
    chance = random.Random(0)
    sizes = [tuple(chance.randint(low, high) for low, high in bounds) for _ in range(4_000)]
    drawn = chance.choices(sizes, k=CALLS)
    start = time.perf_counter()
    for size in drawn:
        router(*size)
    elapsed = time.perf_counter() - start
    print(f"{len(document.profiles)} profiles, {len(document.table)} listed sizes, made in {made_ms:.2f} ms")
    print(f"{1e9 * elapsed / CALLS:.0f} ns a decision over {CALLS:,} requests of {len(sizes):,} sizes")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else DEFAULT)
