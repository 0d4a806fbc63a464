"""Times an engine on the GPU; the only place that imports CUDA.

Definitions are trtexec's: GPU compute time lies between two events around one enqueue (or one graph
launch), H2D and D2H between events around the copies from and to pinned memory, and enqueue time is host
time of the enqueue call. Each sample is waited for, so no sample measures the launch alone.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tuner.engines.tensorrt_api import Log, TensorRT, device_memory_bytes, dtype_name, load_tensorrt
from tuner.errors import RunFailed, TunerError
from tuner.measurements.engine_tensors import EngineTensor, give_memory, pinned_view, set_size
from tuner.measurements.input_fill import Array, InputFill
from tuner.measurements.measurement import Mode
from tuner.measurements.runner import EngineFacts, OutputCheck, SizeTask, SizeTiming
from tuner.measurements.timing import Sampled, SamplingRule, sample, warm_up

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt

COPY_RUNS = 10
"""Copies of one size that H2D and D2H are the medians of."""


@dataclass(slots=True)
class _Opened:
    """Everything that lives as long as the engine is open, in the order it was made."""

    cuda: Any
    api: TensorRT
    runtime: trt.Runtime
    engine: trt.ICudaEngine
    stream: Any
    tensors: dict[str, EngineTensor]
    fill: InputFill
    contexts: dict[int, trt.IExecutionContext] = field(default_factory=dict)


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
        tensors = {}
        for i in range(engine.num_io_tensors):
            name = engine.get_tensor_name(i)
            tensors[name] = EngineTensor(
                name,
                dtype_name(engine.get_tensor_dtype(name)),
                api.tensor_is_input(engine, name),
                api.tensor_is_on_host(engine, name),
            )
        self._opened = _Opened(cuda, api, runtime, engine, cuda.Stream(), tensors, fill)
        return EngineFacts(
            tensorrt=api.version,
            profile_count=engine.num_optimization_profiles,
            device_memory_bytes=device_memory_bytes(engine),
        )

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        opened = self._opened
        if opened is None:
            raise RunFailed("no engine is open", "engine")
        with _cuda_errors(opened.cuda):
            context = _context(opened, task.profile_index)
            arrays = _put_size(opened, context, task)
            first_run_ms = _first_run(opened, context)
            if check is not None:
                check(arrays, _outputs(opened, context))
            return _timed(opened, context, rule, first_run_ms)

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        cuda = opened.cuda
        opened.contexts.clear()
        opened.tensors.clear()
        del opened.engine, opened.runtime, opened.stream
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


def _context(opened: _Opened, index: int) -> trt.IExecutionContext:
    """The execution context of a profile: one each, since a profile serves one context at a time."""
    if index not in opened.contexts:
        context = opened.engine.create_execution_context()
        if context is None:
            raise RunFailed("TensorRT made no execution context: out of GPU memory", "gpu_memory")
        if not context.set_optimization_profile_async(index, opened.stream.handle):
            raise RunFailed(f"the engine has no profile {index}", "profile")
        opened.stream.synchronize()
        opened.contexts[index] = context
    return opened.contexts[index]


def _put_size(opened: _Opened, context: trt.IExecutionContext, task: SizeTask) -> dict[str, Array]:
    """Set the size and copy the inputs to the GPU; gives the inputs."""
    tensors = opened.tensors.values()
    arrays = set_size(context, tensors, opened.fill, task)
    give_memory(opened.cuda, context, tensors, task)
    for tensor in tensors:
        if tensor.is_input and not tensor.is_on_host:
            pinned_view(tensor, task.shapes[tensor.name])[...] = arrays[tensor.name]
    _copy_inputs(opened, context)
    opened.stream.synchronize()
    return arrays


def _copy_inputs(opened: _Opened, context: trt.IExecutionContext) -> None:
    for tensor in opened.tensors.values():
        if tensor.is_input and not tensor.is_on_host:
            view = pinned_view(tensor, tuple(context.get_tensor_shape(tensor.name)))
            opened.cuda.memcpy_htod_async(tensor.device, view, opened.stream)


def _copy_outputs(opened: _Opened, context: trt.IExecutionContext) -> None:
    for tensor in opened.tensors.values():
        if not tensor.is_input and not tensor.is_on_host:
            view = pinned_view(tensor, tuple(context.get_tensor_shape(tensor.name)))
            opened.cuda.memcpy_dtoh_async(view, tensor.device, opened.stream)


def _outputs(opened: _Opened, context: trt.IExecutionContext) -> dict[str, Array]:
    _copy_outputs(opened, context)
    opened.stream.synchronize()
    return {
        tensor.name: pinned_view(tensor, tuple(context.get_tensor_shape(tensor.name))).copy()
        for tensor in opened.tensors.values()
        if not tensor.is_input and not tensor.is_on_host
    }


def _enqueue(opened: _Opened, context: trt.IExecutionContext) -> None:
    if not context.execute_async_v3(opened.stream.handle):
        raise RunFailed("TensorRT did not take the inference", "enqueue")


def _first_run(opened: _Opened, context: trt.IExecutionContext) -> float:
    start = time.perf_counter()
    _enqueue(opened, context)
    opened.stream.synchronize()
    return (time.perf_counter() - start) * 1000


def _timed(
    opened: _Opened, context: trt.IExecutionContext, rule: SamplingRule, first_run_ms: float
) -> SizeTiming:
    host_ms: list[float] = []

    def enqueue() -> None:
        start = time.perf_counter()
        _enqueue(opened, context)
        host_ms.append((time.perf_counter() - start) * 1000)

    taken = {Mode.ENQUEUE: _sampled(opened, enqueue, rule)}
    refused = {}
    try:
        with _captured(opened, context) as launch:
            taken[Mode.CUDA_GRAPH] = _sampled(opened, launch, rule)
    except RunFailed as error:
        if error.kind != "graph":
            raise
        refused[Mode.CUDA_GRAPH] = str(error)
    return SizeTiming(
        samples_ms={mode: sampled.samples_ms for mode, sampled in taken.items()},
        precise=frozenset(mode for mode, sampled in taken.items() if sampled.is_precise),
        first_run_ms=first_run_ms,
        h2d_ms=statistics.median(_event_times(opened, lambda: _copy_inputs(opened, context), COPY_RUNS)),
        d2h_ms=statistics.median(_event_times(opened, lambda: _copy_outputs(opened, context), COPY_RUNS)),
        enqueue_ms=statistics.median(host_ms),
        refused=refused,
    )


def _sampled(opened: _Opened, work: Callable[[], None], rule: SamplingRule) -> Sampled:
    def run(count: int) -> list[float]:
        return _event_times(opened, work, count)

    warm_up(run, rule)
    return sample(run, rule)


def _event_times(opened: _Opened, work: Callable[[], None], count: int) -> list[float]:
    """Milliseconds between an event before and one after the work, for so many runs in a row."""
    before, after = opened.cuda.Event(), opened.cuda.Event()
    times = []
    for _ in range(count):
        before.record(opened.stream)
        work()
        after.record(opened.stream)
        after.synchronize()
        times.append(float(after.time_since(before)))
    return times


@contextmanager
def _captured(opened: _Opened, context: trt.IExecutionContext) -> Iterator[Callable[[], None]]:
    """One inference as a CUDA graph, to be launched in the block; RunFailed of kind `graph` without one."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise RunFailed(f"cuda-bindings cannot be imported ({error})", "graph") from error
    stream = driver.CUstream(opened.stream.handle)
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
    _graph_call(driver.cuStreamBeginCapture(stream, mode))
    try:
        taken = context.execute_async_v3(opened.stream.handle)
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
