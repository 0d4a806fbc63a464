"""Refuses a profile whose inputs and outputs alone exceed the GPU's memory, before any build."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tuner.axes import Size
from tuner.errors import BuildFailed, TunerError
from tuner.formula import parse_formula
from tuner.model import DTYPE_BYTES, Model, OutputSpec
from tuner.profiles.profile import ProfileSet

GIB = 1 << 30


def refuse_impossible(model: Model, profiles: ProfileSet, gpu_bytes: int | None) -> None:
    """BuildFailed of kind `gpu_memory` with the arithmetic; nothing where the memory is not known.

    Outputs count where their dimensions follow from the axes; weights and activations come on top, so what
    passes here may still fail.
    """
    if gpu_bytes is None:
        return
    for index, profile in enumerate(profiles):
        parts = tensor_bytes(model, profile.max)
        needed = sum(parts.values())
        if needed > gpu_bytes:
            sums = " + ".join(f"{name} {count}" for name, count in parts.items())
            raise BuildFailed(
                f"profile {index} ({profile}): inputs and outputs at its max take {sums} = {needed} bytes "
                f"({needed / GIB:.0f} GiB), the GPU has {gpu_bytes / GIB:.0f} GiB; lower the max with --cap",
                "gpu_memory",
            )


def tensor_bytes(model: Model, size: Size) -> dict[str, int]:
    """Bytes of every input, and of every output whose shape follows from the size."""
    shapes = model.tensor_shapes(size)
    sizes = {t.name: _bytes(shapes[t.name], t.dtype) for t in model.inputs}
    for output in model.outputs:
        shape = output_shape(output, size.as_dict())
        if None not in shape:
            sizes[output.name] = _bytes(tuple(d for d in shape if d is not None), output.dtype)
    return sizes


def output_shape(output: OutputSpec, size: Mapping[str, int]) -> tuple[int | None, ...]:
    """An output's shape at a size (axis to value); None for a dimension that does not follow from it."""
    return tuple(d if isinstance(d, int) else _evaluated(d, size) for d in output.dims)


def _evaluated(text: str | None, size: Mapping[str, int]) -> int | None:
    if text is None:
        return None
    if text in size:
        return size[text]
    try:
        formula = parse_formula(text)
        return formula.evaluate(size) if set(formula.axes) <= set(size) else None
    except TunerError:
        return None


def _bytes(shape: tuple[int, ...], dtype: str) -> int:
    return math.ceil(math.prod(shape) * DTYPE_BYTES.get(dtype, 4))
