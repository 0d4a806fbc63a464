"""`tuner` with its recorded backend slowed down, which tells a file what it is doing: run as a script.

It stands in for a GPU that takes its time, so that a test can hit a run in the phase it wants.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import tuner.measurements.flat_parquet as flat
import tuner.measurements.opening as opening
import tuner.recommendation.output_file as output_file
import tuner.traffic.reading as reading
from tuner.commands import main


def slowed(phase: str, work: Any, seconds: float) -> Any:
    def slow(*given: Any, **more: Any) -> Any:
        announce(phase)
        time.sleep(seconds)
        return work(*given, **more)

    return slow


def announce(phase: str) -> None:
    with Path(os.environ["PHASE_FILE"]).open("a") as file:
        file.write(phase + "\n")


class SlowSource(opening.RecordedSource):
    """Every look-up of a curve takes a moment, as a measurement would."""

    measure = slowed("searching", opening.RecordedSource.measure, 0.01)


opening.RecordedSource = SlowSource  # type: ignore[misc]
reading.read_traffic = slowed("reading", reading.read_traffic, 0.4)
flat.Store.add_engine = slowed("storing", flat.Store.add_engine, 0.03)  # type: ignore[attr-defined]
output_file.os.fsync = slowed("writing", os.fsync, 0.4)  # type: ignore[attr-defined]

if __name__ == "__main__":
    sys.argv[0] = "tuner"
    main()
