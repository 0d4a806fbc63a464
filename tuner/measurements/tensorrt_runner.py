"""Times an engine on the GPU; the only place that imports CUDA.

Definitions are trtexec's: GPU compute time lies between two events around one enqueue (or one graph
launch), H2D and D2H between events around the copies from and to pinned memory, and enqueue time is host
time of the enqueue call. Each sample is waited for, so no sample measures the launch alone.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tuner.engines.tensorrt_api import Log, device_memory_bytes, dtype_name, load_tensorrt
from tuner.errors import RunFailed, TunerError
from tuner.measurements.engine_lane import Lane, time_lanes
from tuner.measurements.engine_tensors import EngineTensor
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measurement import Mode
from tuner.measurements.runner import (
    Change,
    ContextsTiming,
    EngineFacts,
    OutputCheck,
    SizeTask,
    SizeTiming,
)
from tuner.measurements.timing import Sampled, SamplingRule, sample, warm_up

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt

COPY_RUNS = 10
"""Copies of one size that H2D and D2H are the medians of."""


@dataclass(slots=True)
class _Opened:
    """Everything that lives as long as the engine is open, in the order it was made."""

    cuda: Any
    runtime: trt.Runtime
    engine: trt.ICudaEngine
    tensors: Sequence[EngineTensor]
    fill: InputFill
    lanes: dict[int, Lane] = field(default_factory=dict)


class TensorRTRunner:
    """Runs one engine at a time in the primary CUDA context, which is the one TensorRT uses."""

    def __init__(self, flavour: str = "tensorrt", device_index: int = 0) -> None:
        self._flavour = flavour
        self._device_index = device_index
        self._opened: _Opened | None = None

    def open(self, plan_path: Path, fill: InputFill) -> EngineFacts:
        api = load_tensorrt(self._flavour)
        cuda = _load_cuda()
        with _cuda_errors(cuda):
            cuda.Device(self._device_index).retain_primary_context().push()
        log = Log()
        runtime, engine = api.engine_from(api.logger(log), plan_path.read_bytes())
        if engine is None:
            cuda.Context.pop()
            reason = (log.errors or ["it gave no reason"])[-1]
            raise RunFailed(f"TensorRT {api.version} cannot open {plan_path}: {reason}", "engine")
        names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
        tensors = [
            EngineTensor(
                name,
                dtype_name(engine.get_tensor_dtype(name)),
                api.tensor_is_input(engine, name),
                api.tensor_is_on_host(engine, name),
            )
            for name in names
        ]
        self._opened = _Opened(cuda, runtime, engine, tensors, fill)
        return EngineFacts(
            tensorrt=api.version,
            profile_count=engine.num_optimization_profiles,
            device_memory_bytes=device_memory_bytes(engine),
        )

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        opened = self._engine()
        with _cuda_errors(opened.cuda):
            lane = _lane(opened, task.profile_index)
            arrays = lane.put_size(task)
            first_run_ms, _ = lane.run()
            if check is not None:
                check(arrays, lane.outputs())
            return _timed(lane, rule, first_run_ms)

    def time_change(self, before: SizeTask, task: SizeTask) -> Change:
        opened = self._engine()
        with _cuda_errors(opened.cuda):
            lane_before, lane = _lane(opened, before.profile_index), _lane(opened, task.profile_index)
            lane_before.put_size_again(before)
            lane_before.run()
            lane.put_size_again(task)
            _, changed_ms = lane.run()
            lane.run()  # the first run of the size, which the next one has behind it
            _, steady_ms = lane.run()
            return Change(changed_ms, steady_ms)

    def time_contexts(self, tasks: Sequence[SizeTask], count: int) -> ContextsTiming:
        """All tasks at once, so many times, each in the execution context of its own profile."""
        opened = self._engine()
        with _cuda_errors(opened.cuda):
            lanes = [_lane(opened, task.profile_index) for task in tasks]
            for lane, task in zip(lanes, tasks, strict=True):
                lane.put_size(task)
            time_lanes(lanes, count // 4 + 1)  # warm-up
            return time_lanes(lanes, count)

    def _engine(self) -> _Opened:
        if self._opened is None:
            raise RunFailed("no engine is open", "engine")
        return self._opened

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        cuda = opened.cuda
        opened.lanes.clear()
        del opened.engine, opened.runtime
        cuda.Context.pop()


def _load_cuda() -> Any:
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        raise TunerError(
            f"pycuda cannot be imported ({error}); install it with pip install 'trt-profile-tuner[gpu]'"
        ) from error
    try:
        cuda.init()
    except cuda.Error as error:
        raise TunerError(
            f"CUDA does not start ({error}); a GPU and a driver that is new enough are needed"
        ) from error
    return cuda


@contextmanager
def _cuda_errors(cuda: Any) -> Iterator[None]:
    try:
        yield
    except cuda.MemoryError as error:
        raise RunFailed(f"out of GPU memory: {error}; lower the max of the profile", "gpu_memory") from error
    except cuda.Error as error:
        raise RunFailed(f"CUDA failed: {error}", "cuda") from error


def _lane(opened: _Opened, index: int) -> Lane:
    """The lane of a profile: one each, since a profile serves one context at a time."""
    if not 0 <= index < opened.engine.num_optimization_profiles:
        raise RunFailed(f"the engine has no profile {index}", "profile")  # 8.6 crashes if asked for it
    if index not in opened.lanes:
        context = opened.engine.create_execution_context()
        if context is None:
            raise RunFailed("TensorRT made no execution context: out of GPU memory", "gpu_memory")
        stream = opened.cuda.Stream()
        if not context.set_optimization_profile_async(index, stream.handle):
            raise RunFailed(f"TensorRT does not select profile {index}", "profile")
        stream.synchronize()
        tensors = tuple(dataclasses.replace(tensor) for tensor in opened.tensors)
        opened.lanes[index] = Lane(opened.cuda, context, stream, tensors, opened.fill)
    return opened.lanes[index]


def _timed(lane: Lane, rule: SamplingRule, first_run_ms: float) -> SizeTiming:
    host_ms: list[float] = []

    def enqueue() -> None:
        start = time.perf_counter()
        lane.enqueue()
        host_ms.append((time.perf_counter() - start) * 1000)

    taken = {Mode.ENQUEUE: _sampled(lane, enqueue, rule)}
    refused = {}
    try:
        with _captured(lane) as launch:
            taken[Mode.CUDA_GRAPH] = _sampled(lane, launch, rule)
    except RunFailed as error:
        if error.kind != "graph":
            raise
        refused[Mode.CUDA_GRAPH] = str(error)
    return SizeTiming(
        samples_ms={mode: sampled.samples_ms for mode, sampled in taken.items()},
        precise=frozenset(mode for mode, sampled in taken.items() if sampled.is_precise),
        first_run_ms=first_run_ms,
        h2d_ms=statistics.median(lane.event_times(lane.copy_inputs, COPY_RUNS)),
        d2h_ms=statistics.median(lane.event_times(lane.copy_outputs, COPY_RUNS)),
        enqueue_ms=statistics.median(host_ms),
        refused=refused,
    )


def _sampled(lane: Lane, work: Callable[[], None], rule: SamplingRule) -> Sampled:
    def run(count: int) -> list[float]:
        return lane.event_times(work, count)

    warm_up(run, rule)
    return sample(run, rule)


@contextmanager
def _captured(lane: Lane) -> Iterator[Callable[[], None]]:
    """One inference as a CUDA graph, to be launched in the block; RunFailed of kind `graph` without one."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise RunFailed(f"cuda-bindings cannot be imported ({error})", "graph") from error
    stream = driver.CUstream(lane.stream.handle)
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    _graph_call(driver.cuStreamBeginCapture(stream, mode))
    try:
        taken = lane.context.execute_async_v3(lane.stream.handle)
    finally:
        ended = driver.cuStreamEndCapture(stream)
    graph = _graph_call(ended)
    if not taken:
        raise RunFailed("the engine cannot be captured", "graph")
    executable = _graph_call(driver.cuGraphInstantiate(graph, 0))
    try:

        def launch() -> None:
            _graph_call(driver.cuGraphLaunch(executable, stream))

        yield launch
    finally:
        driver.cuGraphExecDestroy(executable)
        driver.cuGraphDestroy(graph)


def _graph_call(result: tuple[Any, ...]) -> Any:
    error, *values = result
    if int(error) != 0:
        raise RunFailed(f"CUDA graph: {error.name}", "graph")
    return values[0] if values else None
