"""The one place where numba is asked for: compiles replay code, and keeps it on disk between runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tuner.errors import TunerError

try:
    from numba import njit
except ImportError as error:
    raise TunerError(
        "replaying single requests needs the package numba, which is not installed: "
        "pip install 'trt-profile-tuner[batching]'"
    ) from error

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"cache": True, "forceinline": True, "_nrt": False}


def compiled(function: F) -> F:
    """Compile for arrays that the caller owns.

    Without numba's reference counting (`_nrt`), which costs ten times the replay itself: compiled code here
    never allocates. Inlining is left to LLVM, which is faster to compile than numba's own.
    """
    result: F = njit(**_OPTIONS)(function)
    return result
