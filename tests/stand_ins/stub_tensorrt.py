"""A module that looks like TensorRT of a given release, as far as the builder uses it.

It builds nothing: a plan is a text. `workspace_needed` makes builds fail below that limit, `cache_is_good`
says whether a timing cache with content is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

FP32, HALF = SimpleNamespace(name="FLOAT"), SimpleNamespace(name="HALF")


@dataclass
class StubConfig:
    module: StubTensorRT
    flags: set[Any] = field(default_factory=set)
    workspace: int | None = None
    tactic_sources: int = 7
    profiles: list[Any] = field(default_factory=list)
    cache: Any = None

    def set_flag(self, flag: Any) -> None:
        self.flags.add(flag)

    def clear_flag(self, flag: Any) -> None:
        self.flags.discard(flag)

    def set_tactic_sources(self, mask: int) -> bool:
        self.tactic_sources = mask
        return True

    def get_tactic_sources(self) -> int:
        return self.tactic_sources

    def set_memory_pool_limit(self, pool: Any, limit: int) -> None:
        self.workspace = limit

    def add_optimization_profile(self, profile: Any) -> int:
        self.profiles.append(profile)
        return len(self.profiles) - 1

    def create_timing_cache(self, content: bytes) -> Any:
        if content and not self.module.cache_is_good:
            self.module.say("ERROR", "Serialization assertion failed. Magic tag does not match")
        return SimpleNamespace(content=content, serialize=lambda: b"learned")

    def set_timing_cache(self, cache: Any, ignore_mismatch: bool) -> bool:
        assert self.module.cache_is_good or not cache.content, "release 8.6 crashes here"
        self.cache = cache
        return True

    def get_timing_cache(self) -> Any:
        return self.cache


class StubProfile:
    def __init__(self) -> None:
        self.shapes: dict[str, list[Any]] = {}

    def set_shape(self, name: str, low: Any, opt: Any, high: Any) -> None:
        self.shapes[name] = [low, opt, high]

    def get_shape(self, name: str) -> list[Any]:
        return self.shapes.get(name, [])


class StubTensorRT:
    """The module: hand it to `tensorrt_api.TensorRT`."""

    def __init__(
        self, version: str, *, has_fp16: bool = True, model_dtype: Any = FP32, workspace_needed: int = 0,
        cache_is_good: bool = True,
    ) -> None:  # fmt: skip
        self.__version__ = version
        self.workspace_needed = workspace_needed
        self.cache_is_good = cache_is_good
        self.model_dtype = model_dtype
        self.config = StubConfig(self)
        self.loggers: list[Any] = []
        names = ["TF32", "FP16", "INT8", "FP8"] if has_fp16 else ["TF32", "STRICT_NANS"]
        self.BuilderFlag = IntEnum("BuilderFlag", names, start=0)
        network_flags = ["EXPLICIT_BATCH"] if has_fp16 else ["STRONGLY_TYPED"]
        self.NetworkDefinitionCreationFlag = IntEnum("NetworkDefinitionCreationFlag", network_flags, start=0)
        self.MemoryPoolType = IntEnum("MemoryPoolType", ["WORKSPACE"], start=0)
        self.TacticSource = IntEnum("TacticSource", ["CUBLAS", "CUDNN"], start=0)
        self.ILogger = type("ILogger", (), {"__init__": lambda logger: self.loggers.append(logger)})

    def say(self, severity: str, message: str) -> None:
        for logger in self.loggers:
            logger.log(SimpleNamespace(name=severity), message)

    def Builder(self, logger: Any) -> Any:
        return SimpleNamespace(
            create_network=lambda flags: self._network(),
            create_builder_config=lambda: self.config,
            create_optimization_profile=StubProfile,
            build_serialized_network=self._plan,
        )

    def OnnxParser(self, network: Any, logger: Any) -> Any:
        return SimpleNamespace(parse_from_file=lambda path: True)

    def _network(self) -> Any:
        tensor = SimpleNamespace(name="x", shape=(-1, 16), dtype=self.model_dtype, is_shape_tensor=False)
        layer = SimpleNamespace(num_outputs=1, get_output=lambda i: SimpleNamespace(dtype=self.model_dtype))
        return SimpleNamespace(
            num_inputs=1, get_input=lambda i: tensor, num_layers=1, get_layer=lambda i: layer
        )

    def _plan(self, network: Any, config: StubConfig) -> bytes | None:
        if (config.workspace or 0) < self.workspace_needed:
            self.say("ERROR", "Could not find any implementation for node {ForeignNode[a...b]}.")
            return None
        return b"plan"
