"""A lane: one execution context with its stream and its own memory, and the work that is put on it.

Nothing here imports CUDA: the driver module is handed in by the runner.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.errors import RunFailed
from tuner.measurements.engine_tensors import (
    EngineTensor,
    give_memory,
    has_memory,
    input_array,
    pinned_view,
    set_size,
)
from tuner.measurements.input_fill import Array, InputFill
from tuner.measurements.runner import ContextsTiming, SizeTask
from tuner.measurements.timing import percentile

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt


@dataclass(slots=True)
class Lane:
    """One execution context; lanes share the engine and nothing else."""

    cuda: Any
    context: trt.IExecutionContext
    stream: Any
    tensors: tuple[EngineTensor, ...]
    fill: InputFill

    def put_size(self, task: SizeTask) -> dict[str, Array]:
        """Set the size and copy the inputs to the GPU; gives the inputs."""
        set_size(self.context, self.tensors, self.fill, task)
        give_memory(self.cuda, self.context, self.tensors, task)
        arrays = {
            tensor.name: tensor.pinned if tensor.is_on_host else input_array(self.fill, tensor, task)
            for tensor in self.tensors
            if tensor.is_input
        }
        for tensor in self.tensors:
            if tensor.is_input and not tensor.is_on_host:
                pinned_view(tensor, task.shapes[tensor.name])[...] = arrays[tensor.name]
        self.copy_inputs()
        self.stream.synchronize()
        return arrays

    def put_size_again(self, task: SizeTask) -> None:
        """Set a size that was put before, and nothing else: inputs and memory stay as they are."""
        set_size(self.context, self.tensors, self.fill, task)
        if not has_memory(self.context, self.tensors):
            raise RunFailed(f"{task.size} was not put before", "size")

    def copy_inputs(self) -> None:
        for tensor in self.tensors:
            if tensor.is_input and not tensor.is_on_host:
                view = pinned_view(tensor, tuple(self.context.get_tensor_shape(tensor.name)))
                self.cuda.memcpy_htod_async(tensor.device, view, self.stream)

    def copy_outputs(self) -> None:
        for tensor in self.tensors:
            if not tensor.is_input and not tensor.is_on_host:
                view = pinned_view(tensor, tuple(self.context.get_tensor_shape(tensor.name)))
                self.cuda.memcpy_dtoh_async(view, tensor.device, self.stream)

    def outputs(self) -> dict[str, Array]:
        self.copy_outputs()
        self.stream.synchronize()
        return {
            tensor.name: pinned_view(tensor, tuple(self.context.get_tensor_shape(tensor.name))).copy()
            for tensor in self.tensors
            if not tensor.is_input and not tensor.is_on_host
        }

    def enqueue(self) -> None:
        if not self.context.execute_async_v3(self.stream.handle):
            raise RunFailed("TensorRT did not take the inference", "enqueue")

    def run(self) -> tuple[float, float]:
        """One inference that is waited for: host milliseconds, and GPU compute time as of `event_times`."""
        before, after = self.cuda.Event(), self.cuda.Event()
        start = time.perf_counter()
        before.record(self.stream)
        self.enqueue()
        after.record(self.stream)
        after.synchronize()
        return (time.perf_counter() - start) * 1000, float(after.time_since(before))

    def event_times(self, work: Callable[[], None], count: int) -> list[float]:
        """Milliseconds between an event before and one after the work, for so many runs in a row."""
        before, after = self.cuda.Event(), self.cuda.Event()
        times = []
        for _ in range(count):
            before.record(self.stream)
            work()
            after.record(self.stream)
            after.synchronize()
            times.append(float(after.time_since(before)))
        return times


def time_lanes(lanes: Sequence[Lane], count: int) -> ContextsTiming:
    """Put one inference on every lane at once, so many times, and wait for all of them each time."""
    pairs = [(lane.cuda.Event(), lane.cuda.Event()) for lane in lanes]
    service, wall = [], []
    for _ in range(count):
        start = time.perf_counter()
        for lane, (before, after) in zip(lanes, pairs, strict=True):
            before.record(lane.stream)
            lane.enqueue()
            after.record(lane.stream)
        for _, after in pairs:
            after.synchronize()
        wall.append(time.perf_counter() - start)
        service += [float(after.time_since(before)) for before, after in pairs]
    return ContextsTiming(
        contexts=len(lanes),
        p50_ms=percentile(service, 50),
        p99_ms=percentile(service, 99),
        inferences_per_s=len(lanes) / statistics.median(wall),
    )
