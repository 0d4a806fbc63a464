"""Measures an engine in a child process and gives each measurement as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.engines.child import Limits, run_child
from tuner.errors import RunFailed
from tuner.measurements.measure_wire import MeasureJob, facts_from_json, measurement_from_json
from tuner.measurements.measurement import Measurement
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.outputs import OutputError
from tuner.measurements.runner import ContextsTiming, EngineFacts

RunAnswer = Measurement | EngineFacts | OutputError | SwitchCosts | ContextsTiming
MEASURE_CHILD = (sys.executable, "-m", "tuner.measurements.measure_child")


@dataclass(frozen=True, slots=True)
class ChildMeasurer:
    """Runs measuring children; `log_folder` keeps what each of them printed, named after the plan."""

    limits: Limits
    log_folder: Path
    program: Sequence[str] = MEASURE_CHILD

    def measure(self, job: MeasureJob) -> Iterator[RunAnswer]:
        """The engine's facts first, errors of outputs where asked, measurements, and what changes cost.

        Raises RunFailed with kind and reason where the child does not end well.
        """
        log_path = self.log_folder / f"{Path(job.plan_path).name}.run.log"
        for answer in run_child(self.program, job.to_json(), self.limits, log_path, failure=RunFailed):
            if "opened" in answer:
                yield facts_from_json(answer["opened"])
            elif "output_error" in answer:
                yield OutputError(**answer["output_error"])
            elif "switch_costs" in answer:
                yield SwitchCosts(**answer["switch_costs"])
            elif "contexts" in answer:
                yield ContextsTiming(**answer["contexts"])
            else:
                yield measurement_from_json(answer["measurement"])
