"""Adds a document's profiles to a TensorRT builder configuration in the user's own script.

Nothing of TensorRT is imported: the objects are the caller's, of `tensorrt` 8.6 to 11 or `tensorrt_rtx`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tuner.errors import TunerError
from tuner.profiles.profile import TensorRange
from tuner.recommendation.profile_document import DocumentProfile, TensorRanges


def apply(profiles: Sequence[DocumentProfile], builder: Any, config: Any, network: Any) -> list[int]:
    """Add each profile to `config` in order, and give the profile indexes that TensorRT assigned.

    `profiles` is `tuner.load(...).profiles`; the others are TensorRT's builder, builder configuration and
    network. Raises TunerError where the network has another input than the profiles, and where TensorRT
    refuses one: checked before anything is added, so that `config` never holds half of a set.
    """
    made = []
    for profile in profiles:
        if profile.tensors is None:
            raise TunerError(
                f"profile {profile.index} has no shapes by input: the document was made without a model; "
                "recommend again with --model"
            )
        _check_inputs(profile.index, profile.tensors, network)
        made.append(_made(profile.index, profile.tensors, builder, network))
    return [_added(i, one, config) for i, one in enumerate(made)]


def _check_inputs(index: int, tensors: TensorRanges, network: Any) -> None:
    inputs = {}
    for position in range(network.num_inputs):
        tensor = network.get_input(position)
        inputs[tensor.name] = tensor
    unknown = sorted(set(tensors) - set(inputs))
    if unknown:
        raise TunerError(f"profile {index} has the inputs {unknown}; the network has {sorted(inputs)}")
    open_ones = {n for n, t in inputs.items() if t.is_shape_tensor or -1 in tuple(t.shape)}
    lacking = sorted(open_ones - set(tensors))
    if lacking:
        raise TunerError(f"profile {index} lacks the inputs {lacking}, which the network leaves open")
    for name, range_ in tensors.items():
        _check_shape(f"profile {index}: input {name}", range_, tuple(inputs[name].shape))


def _check_shape(where: str, range_: TensorRange, shape: tuple[int, ...]) -> None:
    """TensorRT takes another rank without a word and fails at the build; so it is named here."""
    for bound, ours in (("min", range_.min), ("opt", range_.opt), ("max", range_.max)):
        fits = len(ours) == len(shape) and all(b in (-1, a) for a, b in zip(ours, shape, strict=True))
        if not fits:
            raise TunerError(f"{where} has {bound} {list(ours)}, but the network has {list(shape)} there")


def _made(index: int, tensors: TensorRanges, builder: Any, network: Any) -> Any:
    profile = builder.create_optimization_profile()
    for position in range(network.num_inputs):
        tensor = network.get_input(position)
        if tensor.name not in tensors:
            continue
        try:
            _set_range(profile, tensor, tensors[tensor.name])
        except (ValueError, TypeError) as error:
            raise TunerError(f"TensorRT refuses profile {index} at input {tensor.name}: {error}") from error
    return profile


def _set_range(profile: Any, tensor: Any, range_: TensorRange) -> None:
    # Asked of the network: an input that our reading of the model took for a shape tensor may be data.
    if range_.values is not None and tensor.is_shape_tensor:
        profile.set_shape_input(tensor.name, *(range_.values[bound] for bound in ("min", "opt", "max")))
    elif -1 in tuple(tensor.shape):
        profile.set_shape(tensor.name, range_.min, range_.opt, range_.max)


def _added(index: int, profile: Any, config: Any) -> int:
    assigned = config.add_optimization_profile(profile)
    if assigned < 0:
        raise TunerError(f"TensorRT refuses profile {index} of the document as incomplete or out of order")
    return int(assigned)
