"""Tests of what differs between releases of TensorRT, with engines that have one release's names."""

from __future__ import annotations

import warnings

from tuner.engines.tensorrt_api import engine_values

VALUES = [(2,), (4,), (8,)]


class EngineOf8:
    """Release 8.6 has one call for values, which it warns of."""

    def get_profile_shape_input(self, index: int, name: str) -> list[tuple[int, ...]]:
        warnings.warn("Use get_tensor_profile_shape instead.", DeprecationWarning, stacklevel=1)
        return VALUES


class EngineOf10:
    """Release 10 has a name of its own for the same, with the same order of arguments."""

    def get_tensor_profile_values(self, index: int, name: str) -> list[tuple[int, ...]]:
        assert (index, name) == (1, "target")
        return VALUES


def test_values_of_a_shape_tensor_are_read_from_every_release() -> None:
    # Warnings are errors here, as they may be in a user's process.
    assert engine_values(EngineOf8(), "target", 1) == VALUES
    assert engine_values(EngineOf10(), "target", 1) == VALUES
