"""Timing caches: read, handed to TensorRT, and called used only where TensorRT took them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tuner.engines.plan_file import write_whole
from tuner.engines.tensorrt_api import Log

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt

CACHE_TROUBLE = r"timing cache.*(not be used|not used|mismatch|invalid|deserializ)|magic tag|unknown graph"


class TimingCache:
    """A timing cache file; `state` claims that it was used only where TensorRT took it without complaint."""

    def __init__(self, config: trt.IBuilderConfig, log: Log, path: str | None) -> None:
        self.config, self.log, self.path = config, log, Path(path) if path else None
        self.loaded = False
        self.refused: str | None = None
        if self.path is None:
            return
        content = self.path.read_bytes() if self.path.is_file() else b""
        cache = config.create_timing_cache(content)
        self.refused = log.matching(CACHE_TROUBLE) if content else None
        # Release 8.6 gives a cache even for bytes that it could not read, and crashes once that is set.
        if self.refused is None:
            taken = cache is not None and config.set_timing_cache(cache, False)
            self.loaded = bool(content) and bool(taken)
            if content and not taken:
                self.refused = "TensorRT did not take it"
        if self.refused:
            log.add("WARNING", f"timing cache {self.path} is left as it is and not used: {self.refused}")

    @property
    def state(self) -> str:
        complaint = self.refused or (self.log.matching(CACHE_TROUBLE) if self.loaded else None)
        if complaint:
            return f"refused: {complaint}"
        return "accepted" if self.loaded else "none"

    def save(self) -> None:
        """Write what the build learned, unless the file is one that TensorRT refused."""
        if self.path is None or self.state.startswith("refused"):
            return
        cache = self.config.get_timing_cache()
        if cache is not None:
            write_whole(self.path, cache.serialize())
