"""Traffic as plain values, so that two are equal only when they are equal byte for byte."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tuner.traffic.traffic import Traffic


def facts(traffic: Traffic) -> dict[str, Any]:
    """Everything about the traffic, arrays as bytes with their type."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return str(value.dtype), value.shape, value.tobytes()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        if isinstance(value, dict):
            return [(key, plain(inner)) for key, inner in value.items()]
        return value

    return plain(traffic)
