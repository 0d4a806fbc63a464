"""The process of one measuring run: `python -m tuner.measurements.measure_child`."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from tuner.engines.child import Answer, Send, serve
from tuner.errors import RunFailed
from tuner.measurements.gpu_state import read_gpu_state
from tuner.measurements.measure_wire import MeasureJob, facts_to_json, measurement_to_json
from tuner.measurements.measuring import ReadState, SwitchCosts, measure_tasks
from tuner.measurements.outputs import Reference
from tuner.measurements.runner import OutputCheck, Outputs, Runner, SizeTask
from tuner.measurements.timing import SamplingRule

CONTEXT_RUNS = 200
ONE_RUN = SamplingRule(min_samples=1, max_samples=1, warmup_blocks=1, warmup_block=1)


def answer_with(runner: Runner, request: Answer, send: Send, read_state: ReadState) -> None:
    """Open the plan, check outputs where asked, time every size; each answer goes out at once."""
    job = MeasureJob.from_json(request)
    plan = Path(job.plan_path)
    if hashlib.sha256(plan.read_bytes()).hexdigest() != job.plan_digest:
        raise RunFailed(
            f"{plan} is not the plan that we built: its digest differs; plans are code, so it stays shut",
            "digest",
        )
    try:
        send({"opened": facts_to_json(runner.open(plan, job.fill))})
        if job.verify_model is not None:
            _send_errors(runner, job, job.verify_model, send)
        if job.contexts:
            _send_contexts(runner, job, send)
            return
        found = measure_tasks(runner, job.tasks, job.visiting, fill=job.fill.text, read_state=read_state)
        for one in found:
            if isinstance(one, SwitchCosts):
                send({"switch_costs": dataclasses.asdict(one)})
            else:
                send({"measurement": measurement_to_json(one)})
    finally:
        runner.close()


def _send_contexts(runner: Runner, job: MeasureJob, send: Send) -> None:
    together = getattr(runner, "time_contexts", None)
    if together is None:
        raise RunFailed("this runner times one execution context at a time", "contexts")
    for count in job.contexts:
        tasks = [dataclasses.replace(job.tasks[0], profile_index=index) for index in range(count)]
        send({"contexts": dataclasses.asdict(together(tasks, CONTEXT_RUNS))})


def _send_errors(runner: Runner, job: MeasureJob, model_path: str, send: Send) -> None:
    reference = Reference(model_path)
    for task in job.verify_tasks:
        runner.time(task, ONE_RUN, _checker(reference, task, send))


def _checker(reference: Reference, task: SizeTask, send: Send) -> OutputCheck:
    def check(inputs: Outputs, outputs: Outputs) -> None:
        for error in reference.errors(inputs, outputs, str(task.size)):
            send({"output_error": dataclasses.asdict(error)})

    return check


def answer(request: Answer, send: Send) -> None:
    """Measure with TensorRT on the GPU."""
    from tuner.measurements.tensorrt_runner import TensorRTRunner

    index = request["device_index"]
    answer_with(TensorRTRunner(request["flavour"], index), request, send, lambda: read_gpu_state(index))


if __name__ == "__main__":
    serve(answer)
