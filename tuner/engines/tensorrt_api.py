"""The only place that imports TensorRT; what differs between its releases is found here, by feature.

Known to it: `tensorrt` 8.6, 10 and 11 and `tensorrt_rtx`. Names of release 10 are checked by mypy where
its type stubs are on the path; names that only other releases have are looked up by `getattr`.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tuner.errors import BuildFailed, TunerError
from tuner.model import Shape
from tuner.profiles.profile import TensorRange

if TYPE_CHECKING:
    import tensorrt as trt

FLAVOURS: Mapping[str, str] = {"tensorrt": "gpu", "tensorrt_rtx": "rtx"}
"""Import name of each flavour and the extra of ours that installs it."""

_DEVICE_TROUBLE = re.compile(r"cudaError 35|CUDA driver version is insufficient|CUDA_ERROR_NO_DEVICE")
_DTYPES = {
    "FLOAT": "float32", "HALF": "float16", "BF16": "bfloat16", "INT64": "int64", "INT32": "int32",
    "INT8": "int8", "UINT8": "uint8", "BOOL": "bool", "FP8": "float8e4m3fn", "INT4": "int4",
    "FP4": "float4e2m1",
}  # fmt: skip
"""TensorRT's dtype names and those of `model.DTYPE_BYTES`."""


def load_tensorrt(flavour: str) -> TensorRT:
    """The flavour's bindings; TunerError that names the extra to install where they are missing."""
    if flavour not in FLAVOURS:
        raise TunerError(f"TensorRT flavour '{flavour}' is unknown; accepted are {', '.join(FLAVOURS)}")
    try:
        module = importlib.import_module(flavour)
    except (ImportError, OSError) as error:
        raise TunerError(
            f"{flavour} cannot be imported ({error}); install it with "
            f"pip install 'trt-profile-tuner[{FLAVOURS[flavour]}]'"
        ) from error
    # Type stubs alone leave an empty package of that name behind.
    if not hasattr(module, "Builder"):
        raise TunerError(
            f"{flavour} is installed without its bindings; install them with "
            f"pip install 'trt-profile-tuner[{FLAVOURS[flavour]}]'"
        )
    return TensorRT(module, flavour)


@dataclass(slots=True)
class Log:
    """What TensorRT said, by severity: a list of (severity, message) in the order they came."""

    messages: list[tuple[str, str]] = field(default_factory=list)

    def add(self, severity: str, message: str) -> None:
        if severity in ("INTERNAL_ERROR", "ERROR", "WARNING"):
            self.messages.append((severity, message))
            print(f"[{severity}] {message}", file=sys.stderr, flush=True)  # noqa: T201 - the child's log

    @property
    def errors(self) -> list[str]:
        """Errors that are TensorRT's own; that a driver is missing is no failure where none is needed."""
        return [
            message
            for severity, message in self.messages
            if severity.endswith("ERROR") and not _DEVICE_TROUBLE.search(message)
        ]

    def matching(self, pattern: str) -> str | None:
        """The first message that the regular expression finds, in any case."""
        found = (message for _, message in self.messages if re.search(pattern, message, re.IGNORECASE))
        return next(found, None)


class TensorRT:
    """One flavour's bindings, behind the differences of its releases."""

    def __init__(self, module: Any, flavour: str) -> None:
        self.module = module
        self.flavour = flavour
        self.version = str(module.__version__)

    def logger(self, log: Log) -> trt.ILogger:
        interface: Any = self.module.ILogger

        class Keeping(interface):  # type: ignore[misc]  # the base is only known when TensorRT is loaded
            def __init__(self) -> None:
                interface.__init__(self)

            def log(self, severity: Any, message: str) -> None:
                log.add(severity.name, message)

        keeping: trt.ILogger = Keeping()
        return keeping

    def builder(self, logger: trt.ILogger) -> trt.Builder:
        made: trt.Builder = self.module.Builder(logger)
        return made

    def network(self, builder: trt.Builder) -> trt.INetworkDefinition:
        """An empty network: explicit batch where that is a choice, else strongly typed."""
        flags = self.module.NetworkDefinitionCreationFlag
        explicit = getattr(flags, "EXPLICIT_BATCH", None)
        if explicit is not None:
            return builder.create_network(1 << int(explicit))
        typed = getattr(flags, "STRONGLY_TYPED", None)
        return builder.create_network(0 if typed is None else 1 << int(typed))

    @property
    def is_strongly_typed(self) -> bool:
        """True where precision follows from the model's own types because the precision flags are gone."""
        return not hasattr(self.module.BuilderFlag, "FP16")

    def parse(self, network: trt.INetworkDefinition, logger: trt.ILogger, path: str) -> None:
        """Read the ONNX file into the network; BuildFailed with every parser error and its node."""
        parser: trt.OnnxParser = self.module.OnnxParser(network, logger)
        if parser.parse_from_file(path):
            return
        errors = [parser_error_text(parser.get_error(i)) for i in range(parser.num_errors)]
        unknown = unsupported_nodes(parser, path)
        if unknown:
            errors.append(f"operators without support: {', '.join(unknown)}; replace them or give a plugin")
        raise BuildFailed(
            f"TensorRT cannot parse {path}: " + ("; ".join(errors) or "no reason given"), "parser"
        )

    def set_precision(self, config: trt.IBuilderConfig, precision: str) -> None:
        """Set the flags of a weakly typed flavour; BuildFailed where it has no such precision."""
        flags = self.module.BuilderFlag
        if precision == "fp32":
            config.clear_flag(flags.TF32)
        if precision in ("fp32", "tf32"):
            return
        flag = getattr(flags, precision.upper(), None)
        if flag is None:
            has = [p for p in ("fp16", "bf16", "int8", "fp8") if hasattr(flags, p.upper())]
            raise BuildFailed(
                f"precision {precision}: {self.flavour} {self.version} has no such flag; it has fp32, tf32, "
                + ", ".join(has),
                "precision",
            )
        config.set_flag(flag)

    def set_tf32(self, config: trt.IBuilderConfig, allowed: bool) -> None:
        flag = getattr(self.module.BuilderFlag, "TF32", None)
        if flag is not None:
            (config.set_flag if allowed else config.clear_flag)(flag)

    def set_tactic_sources(self, config: trt.IBuilderConfig, names: Iterable[str]) -> None:
        """Allow these tactic sources alone; none at all for no names."""
        known = {n for n in dir(self.module.TacticSource) if n.isupper()}
        mask = 0
        for name in names:
            if name.upper() not in known:
                raise BuildFailed(
                    f"tactic source '{name}' is unknown to {self.flavour} {self.version}; it has "
                    f"{', '.join(sorted(known)).lower()}",
                    "options",
                )
            mask |= 1 << int(getattr(self.module.TacticSource, name.upper()))
        if not config.set_tactic_sources(mask) or config.get_tactic_sources() != mask:
            raise BuildFailed(f"TensorRT did not take the tactic sources {list(names) or 'none'}", "options")

    def set_workspace(self, config: trt.IBuilderConfig, limit_bytes: int) -> None:
        config.set_memory_pool_limit(self.module.MemoryPoolType.WORKSPACE, limit_bytes)

    def engine_from(self, logger: trt.ILogger, plan: Any) -> tuple[trt.Runtime, trt.ICudaEngine | None]:
        """The engine of a plan with the runtime that must outlive it; None where it cannot be read here."""
        runtime: trt.Runtime = self.module.Runtime(logger)
        return runtime, runtime.deserialize_cuda_engine(plan)

    def tensor_is_input(self, engine: trt.ICudaEngine, name: str) -> bool:
        return bool(engine.get_tensor_mode(name) == self.module.TensorIOMode.INPUT)

    def tensor_is_on_host(self, engine: trt.ICudaEngine, name: str) -> bool:
        return bool(engine.get_tensor_location(name) == self.module.TensorLocation.HOST)


def unsupported_nodes(parser: trt.OnnxParser, path: str) -> list[str]:
    """Every node whose operator the parser does not know; it stops itself at the first of them."""
    import onnx

    nodes = enumerate(onnx.load(path, load_external_data=False).graph.node)
    return [
        f"node {number} '{node.name}' ({node.op_type})"
        for number, node in nodes
        if not parser.supports_operator(node.op_type)
    ]


def parser_error_text(error: trt.ParserError) -> str:
    """One parser error with the node it is about; older releases know only the node's number."""
    name = getattr(error, "node_name", lambda: "")()
    operator = getattr(error, "node_operator", lambda: "")()
    node = f"node {error.node()}" + (f" '{name}'" if name else "") + (f" ({operator})" if operator else "")
    return f"{node}: {' '.join(error.desc().split())}"


def dtype_name(dtype: Any) -> str:
    """The dtype in ONNX's words."""
    return _DTYPES.get(dtype.name, str(dtype.name).lower())


def network_precisions(network: trt.INetworkDefinition) -> set[str]:
    """Floating dtypes that the layers of a network put out."""
    found = set()
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        for output in range(layer.num_outputs):
            found.add(dtype_name(layer.get_output(output).dtype))
    return {name for name in found if "float" in name or name == "int8"}


def device_memory_bytes(engine: trt.ICudaEngine) -> int:
    """Memory that one execution context needs for its activations."""
    newer = getattr(engine, "device_memory_size_v2", None)
    return int(newer if newer is not None else engine.device_memory_size)


def engine_ranges(engine: trt.ICudaEngine, names: Sequence[str], index: int) -> dict[str, list[Shape]]:
    """Min, opt and max shape of each input under one profile, as the engine has them."""
    return {name: [tuple(s) for s in engine.get_tensor_profile_shape(name, index)] for name in names}


def engine_values(engine: Any, name: str, index: int) -> list[Shape]:
    """Min, opt and max values of a shape tensor, as the engine has them."""
    if hasattr(engine, "get_tensor_profile_values"):
        return [tuple(v) for v in engine.get_tensor_profile_values(index, name)]
    with warnings.catch_warnings():
        # Release 8.6 warns of this call and has no other for values.
        warnings.simplefilter("ignore", DeprecationWarning)
        return [tuple(v) for v in engine.get_profile_shape_input(index, name)]


def put_range(profile: trt.IOptimizationProfile, name: str, wanted: TensorRange) -> None:
    """Give one input its range; BuildFailed with TensorRT's own words where it refuses."""
    try:
        if wanted.values is None:
            profile.set_shape(name, wanted.min, wanted.opt, wanted.max)
        else:
            low, opt, high = (list(wanted.values[bound]) for bound in ("min", "opt", "max"))
            profile.set_shape_input(name, low, opt, high)
    except (ValueError, RuntimeError) as error:
        raise BuildFailed(f"input {name}: TensorRT refuses the range {wanted}: {error}", "profile") from error
