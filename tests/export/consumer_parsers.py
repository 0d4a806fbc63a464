"""The consumers' own parsers where a package has them, else what their sources say, for exports to pass."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tuner.export.export_set import bound_of
from tuner.recommendation.profile_document import ProfileDocument

Shapes = dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]


def shapes_of(document: ProfileDocument) -> list[Shapes]:
    """What a consumer should be given: shapes, of shape tensors the values."""
    return [
        {name: tuple(bound_of(tensors, b)[name] for b in ("min", "opt", "max")) for name in tensors}  # type: ignore[misc]
        for tensors in document.tensor_ranges
    ]


def trtexec_profiles(arguments: Sequence[str]) -> list[Shapes]:
    """As `sampleOptions.cpp` reads them from release 10 on: three flags behind each `--profile=N`."""
    profiles: list[dict[str, dict[str, tuple[int, ...]]]] = []
    for argument in arguments:
        flag, _, value = argument.partition("=")
        if flag == "--profile":
            assert value == str(len(profiles))
            profiles.append({})
            continue
        if not profiles:
            profiles.append({})
        for entry in value.split(","):
            name, _, dims = entry.rpartition(":")
            shape = () if dims in ("", "scalar") else tuple(int(d) for d in dims.split("x"))
            profiles[-1].setdefault(name.replace("'", ""), {})[flag] = shape
    flags = ("--minShapes", "--optShapes", "--maxShapes")
    return [{name: tuple(s[f] for f in flags) for name, s in found.items()} for found in profiles]  # type: ignore[misc]


def polygraphy_profiles(arguments: Sequence[str]) -> list[Shapes]:
    """What Polygraphy's own command line makes of the arguments, its name patterns matched as it does."""
    from polygraphy.tools.args.backend.trt.config import parse_profile_shapes

    given: dict[str, list[list[str]]] = {"min": [], "opt": [], "max": []}
    for argument in arguments:
        if argument.startswith("--trt-"):
            given[argument.split("-")[3]].append([])
            bound = argument.split("-")[3]
        else:
            given[bound][-1].append(argument)
    return [
        {name: tuple(map(tuple, shapes)) for name, shapes in found.items()}  # type: ignore[misc]
        for found in parse_profile_shapes({}, given["min"], given["opt"], given["max"])
    ]


def polygraphy_script_profiles(source: str) -> list[Shapes]:
    """The profiles of a script, with Polygraphy's own classes."""
    scope = run(source)
    assert callable(scope["load_config"])
    return [
        {name: (tuple(s.min), tuple(s.opt), tuple(s.max)) for name, s in profile.items()}
        for profile in scope["profiles"]
    ]


def matched_names(patterns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Which pattern Polygraphy takes for each network input."""
    from polygraphy import util

    found, unmatched = util.match_keys(list(patterns), list(names))
    assert unmatched == []
    return dict(found)


def onnxruntime_profile(options: Mapping[str, str]) -> Shapes:
    """As `MakeInputNameShapePair` reads it: cut at commas, name up to the first colon, shape to the next."""
    bounds = []
    for bound in ("min", "opt", "max"):
        shapes = {}
        for entry in options[f"trt_profile_{bound}_shapes"].split(","):
            name, shape = (*entry.split(":"), "")[:2]
            shapes[name] = tuple(int(d) for d in shape.split("x"))
        bounds.append(shapes)
    return {name: tuple(b[name] for b in bounds) for name in bounds[0]}  # type: ignore[misc]


@cache
def triton_messages() -> Any:
    """The message classes that tritonclient ships, loaded without grpc."""
    package = importlib.util.find_spec("tritonclient")
    assert package is not None
    assert package.submodule_search_locations
    file = Path(package.submodule_search_locations[0], "grpc", "model_config_pb2.py")
    spec = importlib.util.spec_from_file_location("model_config_pb2", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def triton_config(text: str) -> Any:
    from google.protobuf import text_format

    return text_format.Parse(text, triton_messages().ModelConfig())


def run(source: str, modules: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Run exported Python source, with stand-ins for packages that are not installed."""
    before = {name: sys.modules.get(name) for name in modules or {}}
    sys.modules.update(modules or {})
    scope: dict[str, Any] = {}
    try:
        exec(compile(source, "export.py", "exec"), scope)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return scope


class TorchInput:
    """Stand-in for `torch_tensorrt.Input`: the keywords that its text documents, nothing else."""

    KEYWORDS = frozenset(
        ("shape", "min_shape", "opt_shape", "max_shape", "profiles", "shared_dims", "is_shape_tensor")
    ) | {"dtype", "name"}

    def __init__(self, **given: Any) -> None:
        assert set(given) <= self.KEYWORDS, given
        self.given = given


def torch_modules(input_class: Any = TorchInput) -> dict[str, Any]:
    torch = types.ModuleType("torch")
    for name in ("bool", "int32", "int64", "float16", "float32"):
        setattr(torch, name, f"torch.{name}")
    torch_tensorrt = types.ModuleType("torch_tensorrt")
    torch_tensorrt.Input = input_class  # type: ignore[attr-defined]
    return {"torch": torch, "torch_tensorrt": torch_tensorrt}


class AITuneProfile:
    """Stand-in for AITune's `TensorRTProfile`: its one method, with its parameters."""

    def __init__(self) -> None:
        self.added: dict[Any, tuple[Any, ...]] = {}

    def add_input_shape(self, path: Any, min_shape: Any, opt_shape: Any, max_shape: Any) -> AITuneProfile:
        self.added[path] = (min_shape, opt_shape, max_shape)
        return self


def aitune_modules(profile_class: Any = AITuneProfile) -> dict[str, Any]:
    names = ("aitune", "aitune.torch", "aitune.torch.backend")
    modules = {name: types.ModuleType(name) for name in names}
    modules["aitune.torch.backend"].TensorRTProfile = profile_class  # type: ignore[attr-defined]
    return modules
