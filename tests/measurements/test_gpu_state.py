"""Which GPU is read: the one that CUDA means, though NVML counts others too."""

from __future__ import annotations

import pytest

from tuner.measurements.gpu_state import visible_gpu


@pytest.mark.parametrize(
    ("index", "visible", "expected"),
    [
        (0, None, 0),
        (1, "", 1),
        (0, "3", 3),
        (1, "2, 5", 5),
        (0, "GPU-8f1e", "GPU-8f1e"),
        (2, "0,1", 2),
    ],
)
def test_visible_devices_decide_which_gpu_is_read(
    index: int, visible: str | None, expected: int | str
) -> None:
    assert visible_gpu(index, visible) == expected
