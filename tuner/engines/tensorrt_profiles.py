"""Gives TensorRT the profiles, and makes sure that the engine has them just as they were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.engines.builder import InputRange
from tuner.engines.tensorrt_api import engine_ranges, engine_values, put_range
from tuner.errors import BuildFailed
from tuner.model import Shape
from tuner.profiles.profile import TensorRange

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt


def _wrong(reason: str) -> BuildFailed:
    return BuildFailed(reason, "profile")


def check_inputs(network: trt.INetworkDefinition, wanted: Sequence[InputRange]) -> None:
    """The network's inputs are those that the job names, each with the same fixed dimensions."""
    found = {network.get_input(i).name: network.get_input(i) for i in range(network.num_inputs)}
    named = {tensor.name: tensor for tensor in wanted}
    if set(found) != set(named):
        raise _wrong(
            f"the network has the inputs {sorted(found)}, the profiles speak of {sorted(named)}; "
            "every input needs its range"
        )
    for name, tensor in found.items():
        shape = tuple(tensor.shape)
        if shape != named[name].shape:
            raise _wrong(f"input {name} is {shape} in the network, but {named[name].shape} in the model file")
        if bool(tensor.is_shape_tensor) and not named[name].is_shape_tensor:
            raise _wrong(
                f"input {name} carries a shape, so TensorRT needs min, opt and max of its values; "
                f"log them as a column and map it with --axis '{name}[0]=COLUMN'"
            )


def add_profiles(
    builder: trt.Builder,
    network: trt.INetworkDefinition,
    config: trt.IBuilderConfig,
    inputs: Sequence[InputRange],
) -> None:
    """Add every profile, and be stricter than TensorRT: some releases take what they should refuse."""
    for index in range(max(len(tensor.ranges) for tensor in inputs)):
        profile = builder.create_optimization_profile()
        for tensor in inputs:
            if tensor.ranges:
                put_range(profile, tensor.name, check_range(tensor, index))
        if not profile:
            raise _wrong(f"profile {index}: TensorRT finds it invalid: {_described(inputs, index)}")
        given = config.add_optimization_profile(profile)
        if given != index:
            raise _wrong(
                f"profile {index}: TensorRT gave it the index {given}, so it was refused: "
                f"{_described(inputs, index)}"
            )
        _check_kept(profile, inputs, index)
    for i in range(network.num_inputs):
        tensor_name = network.get_input(i).name
        if not any(t.name == tensor_name and (t.ranges or -1 not in t.shape) for t in inputs):
            raise _wrong(f"input {tensor_name} is dynamic and no profile has a range for it")


def check_range(tensor: InputRange, index: int) -> TensorRange:
    """The range of an input in one profile; BuildFailed where it contradicts the input or itself."""
    wanted = tensor.ranges[index]
    for bound, shape in (("min", wanted.min), ("opt", wanted.opt), ("max", wanted.max)):
        fixed = zip(shape, tensor.shape, strict=False)
        if len(shape) != len(tensor.shape) or any(d not in (-1, given) for given, d in fixed):
            raise _wrong(
                f"profile {index}: {bound} of input {tensor.name} is {shape}, "
                f"its dimensions are {tensor.shape}"
            )
    columns = zip(wanted.min, wanted.opt, wanted.max, strict=True)
    if any(not 0 <= low <= opt <= high for low, opt, high in columns):
        raise _wrong(
            f"profile {index}: input {tensor.name} breaks min <= opt <= max: {wanted.min}, {wanted.opt}, "
            f"{wanted.max}"
        )
    return wanted


def _check_kept(profile: trt.IOptimizationProfile, inputs: Sequence[InputRange], index: int) -> None:
    for tensor in inputs:
        if not tensor.ranges:
            continue
        wanted = tensor.ranges[index]
        read = profile.get_shape if wanted.values is None else profile.get_shape_input
        kept: list[Shape] = [tuple(bound) for bound in read(tensor.name)]
        if kept != _bounds(wanted):
            raise _wrong(
                f"profile {index}: input {tensor.name} was given {_bounds(wanted)}, the profile holds {kept}"
            )


def compare_with_engine(engine: trt.ICudaEngine, inputs: Sequence[InputRange]) -> None:
    """BuildFailed where the engine's profiles are not those that were asked for."""
    for tensor in inputs:
        for index, wanted in enumerate(tensor.ranges):
            if wanted.values is None:
                found = engine_ranges(engine, [tensor.name], index)[tensor.name]
            else:
                found = engine_values(engine, tensor.name, index)
            given = _bounds(wanted)
            if wanted.values is not None:
                # Release 8.6 tells no more than the first value of each bound.
                given = [bound[: len(told)] for bound, told in zip(given, found, strict=False)]
            if found != given:
                raise _wrong(
                    f"profile {index}: input {tensor.name} was given {_bounds(wanted)}, "
                    f"the engine has {found}"
                )


def _bounds(wanted: TensorRange) -> list[Shape]:
    if wanted.values is None:
        return [wanted.min, wanted.opt, wanted.max]
    return [wanted.values[bound] for bound in ("min", "opt", "max")]


def _described(inputs: Sequence[InputRange], index: int) -> str:
    return "; ".join(f"{t.name} {_bounds(t.ranges[index])}" for t in inputs if t.ranges)
