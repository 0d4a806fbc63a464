"""A measuring child for engines that cannot run here: it opens any plan of ours and prices sizes by formula.

`python priced_engine.py FD` is the child; a size costs 0.1 ms and a microsecond for each unit of its work.
"""

from __future__ import annotations

from pathlib import Path

from tuner.engines.child import Answer, Send, serve
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measure_child import answer_with
from tuner.measurements.measurement import Mode
from tuner.measurements.runner import Change, EngineFacts, OutputCheck, SizeTask, SizeTiming
from tuner.measurements.timing import SamplingRule


class PricedRunner:
    """Times nothing, so every sample of a size is the same."""

    def open(self, plan_path: Path, fill: InputFill) -> EngineFacts:
        return EngineFacts(tensorrt="priced", profile_count=1, device_memory_bytes=plan_path.stat().st_size)

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        price = 0.1 + 0.001 * task.size.work
        samples = dict.fromkeys(Mode, (price,) * rule.min_samples)
        return SizeTiming(
            samples_ms=samples,
            precise=frozenset(samples),
            first_run_ms=price,
            h2d_ms=0.01,
            d2h_ms=0.01,
            enqueue_ms=0.05,
        )

    def time_change(self, before: SizeTask, task: SizeTask) -> Change:
        return Change(changed_ms=0.1, steady_ms=0.1)

    def close(self) -> None: ...


def answer(request: Answer, send: Send) -> None:
    answer_with(PricedRunner(), request, send, lambda: None)


if __name__ == "__main__":
    serve(answer)
