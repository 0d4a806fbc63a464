"""What `tuner --help` takes, from the start of the process to its end; the target is less than 0.4 s.

    python tests/benchmarks/help_speed.py [--runs N]

That nothing heavy is imported is under test; the time itself depends on the machine and what else it does.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

TARGET_S = 0.4


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    taken = [seconds([sys.executable, "-m", "tuner", "--help"]) for _ in range(given.runs)]
    print(
        f"tuner --help, {given.runs} runs: median {statistics.median(taken):.3f} s, least {min(taken):.3f} s "
        f"(target: less than {TARGET_S} s)"
    )
