"""The tensors of an open engine: their memory on both sides, and the size that is set, read back and filled.

Nothing here imports CUDA: the driver module is handed in by the runner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.errors import RunFailed
from tuner.measurements.input_fill import Array, InputFill
from tuner.measurements.runner import SizeTask
from tuner.model import Shape

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt

_STORED_AS: Mapping[str, str] = {"bfloat16": "uint16", "float8e4m3fn": "uint8"}
"""numpy dtypes that hold the bytes of those it does not know."""


@dataclass(slots=True)
class EngineTensor:
    """A tensor of the open engine with its memory, which grows to the largest size seen."""

    name: str
    dtype: str
    is_input: bool
    is_on_host: bool
    device: Any = None
    pinned: Any = None

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        return np.dtype(_STORED_AS.get(self.dtype, self.dtype))


def set_size(
    context: trt.IExecutionContext, tensors: Iterable[EngineTensor], fill: InputFill, task: SizeTask
) -> None:
    """Set the size of every input and read it back; inputs that lie on the host get their values as well."""
    for tensor in tensors:
        if not tensor.is_input:
            continue
        shape = task.shapes[tensor.name]
        if tensor.is_on_host:
            # TensorRT reads it from the host whenever the size is worked out.
            tensor.pinned = input_array(fill, tensor, task)
            context.set_tensor_address(tensor.name, tensor.pinned.ctypes.data)
        if not context.set_input_shape(tensor.name, shape):
            raise RunFailed(f"input {tensor.name}: the engine refuses {shape} at {task.size}", "size")
    for name, shape in task.shapes.items():
        if (found := tuple(context.get_tensor_shape(name))) != shape:
            raise RunFailed(f"input {name} was set to {shape} for {task.size} but is {found}", "size")


def give_memory(
    cuda: Any, context: trt.IExecutionContext, tensors: Iterable[EngineTensor], task: SizeTask
) -> None:
    """Memory for every tensor at the size that is set; outputs of another shape than expected are refused."""
    for tensor in tensors:
        shape = tuple(context.get_tensor_shape(tensor.name))
        if not tensor.is_input:
            _check_output(tensor.name, shape, task)
        if not tensor.is_on_host:
            _grow(cuda, tensor, shape)
            if not context.set_tensor_address(tensor.name, int(tensor.device)):
                raise RunFailed(f"TensorRT refuses the address of {tensor.name}", "cuda")


def pinned_view(tensor: EngineTensor, shape: Shape) -> Array:
    """The first bytes of a tensor's pinned memory, seen in its dtype and shape."""
    count = int(np.prod(shape)) * tensor.numpy_dtype.itemsize
    view: Array = tensor.pinned[:count].view(tensor.numpy_dtype).reshape(shape)
    return view


def has_memory(context: trt.IExecutionContext, tensors: Iterable[EngineTensor]) -> bool:
    """Whether the memory there is holds every tensor at the size that is set."""
    on_gpu = [tensor for tensor in tensors if not tensor.is_on_host]
    return all(_holds(tensor, tuple(context.get_tensor_shape(tensor.name))) for tensor in on_gpu)


def input_array(fill: InputFill, tensor: EngineTensor, task: SizeTask) -> Array:
    """The values that an input is to have at a size; of shape tensors those that the size asks for."""
    values = task.values.get(tensor.name)
    if values is not None:
        return np.array(values, dtype=tensor.numpy_dtype).reshape(task.shapes[tensor.name])
    return fill.array(tensor.name, tensor.dtype, task.shapes[tensor.name])


def _check_output(name: str, shape: Shape, task: SizeTask) -> None:
    if any(dim < 0 for dim in shape):
        raise RunFailed(
            f"output {name} has the shape {shape} at {task.size}: it depends on the data, which is not timed",
            "data_dependent",
        )
    expected = task.outputs.get(name, ())
    pairs = zip(expected, shape, strict=False)
    if expected and (len(expected) != len(shape) or any(want not in (None, got) for want, got in pairs)):
        raise RunFailed(f"output {name} is {shape} at {task.size}, the model says {expected}", "size")


def _needed_bytes(tensor: EngineTensor, shape: Shape) -> int:
    return max(int(np.prod(shape)) * tensor.numpy_dtype.itemsize, 1)


def _holds(tensor: EngineTensor, shape: Shape) -> bool:
    return tensor.pinned is not None and bool(tensor.pinned.nbytes >= _needed_bytes(tensor, shape))


def _grow(cuda: Any, tensor: EngineTensor, shape: Shape) -> None:
    if not _holds(tensor, shape):
        needed = _needed_bytes(tensor, shape)
        tensor.device = tensor.pinned = None  # freed before more is taken
        tensor.device = cuda.mem_alloc(needed)
        tensor.pinned = cuda.pagelocked_empty(needed, np.uint8)
