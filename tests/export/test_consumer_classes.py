"""Exports for PyTorch's compilers go through the classes of the packages themselves, read from their wheels.

The packages need torch and a GPU's libraries to be imported; one file of each does not, once `torch` is a
stand-in. Slow: pip fetches two wheels.
"""

from __future__ import annotations

import enum
import importlib.util
import subprocess
import sys
import types
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.export.consumer_parsers import TorchInput, aitune_modules, run, shapes_of, torch_modules
from tests.export.test_round_trips import export
from tests.export.written_documents import THREE, document_of, encoder

pytestmark = pytest.mark.slow
WHEELS = ("torch-tensorrt==2.14.0", "aitune==0.6.0")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheels")
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *WHEELS]
    done = subprocess.run(fetch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {path.name.partition("-")[0]: zipfile.ZipFile(path) for path in folder.glob("*.whl")}


@contextmanager
def loaded(modules: dict[str, Any]) -> Iterator[None]:
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module


def source_as_module(wheel: zipfile.ZipFile, path: str, folder: Path) -> types.ModuleType:
    file = folder / path.replace("/", "_")
    file.write_bytes(wheel.read(path))
    name = path.removesuffix(".py").replace("/", ".")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Values(tuple[int, ...]):
    """Stand-in for a tensor: what it was made of, convertible to any dtype."""

    def to(self, **_: Any) -> Values:
        return self


def stand_in_torch() -> types.ModuleType:
    torch = torch_modules()["torch"]
    torch.Size, torch.Tensor, torch.dtype = Values, Values, str
    torch.tensor = lambda values, dtype: Values(values)
    torch.rand = Values
    torch.randint = lambda low, high, shape, **_: Values(shape)
    return torch


class StandInEnum(enum.Enum):
    """Stand-in for the dtype and format enumerations, which need TensorRT to be imported."""

    unknown = enum.auto()
    linear = enum.auto()

    @classmethod
    def _from(cls, given: Any) -> Any:
        return given


def test_torch_tensorrts_own_input_takes_the_export(
    wheels: dict[str, zipfile.ZipFile], tmp_path: Path
) -> None:
    torch = stand_in_torch()
    enums = types.ModuleType("torch_tensorrt._enums")
    enums.dtype = enums.memory_format = StandInEnum  # type: ignore[attr-defined]
    packages = {"torch": torch, "torch_tensorrt": types.ModuleType("torch_tensorrt"), enums.__name__: enums}
    with loaded({**packages, "torch_tensorrt._Input": None}):
        own = source_as_module(wheels["torch_tensorrt"], "torch_tensorrt/_Input.py", tmp_path).Input
        # An example tensor needs torch itself; the checks of shapes come before it.
        own.example_tensor = lambda self, bound=None: Values()
        for profiles in (THREE[:1], THREE):
            document = document_of(encoder(), profiles)
            modules = {**torch_modules(own), "torch": torch}
            inputs = run(export("torch-tensorrt", document), modules)["inputs"]
            assert [i.name for i in inputs] == ["input_ids", "attention_mask"]
            assert _ranges(inputs) == shapes_of(document)
            assert inputs[0].shared_dims == {0: "batch", 1: "seq"}


def _ranges(inputs: Sequence[Any]) -> list[dict[str, Any]]:
    bounds = ("min_shape", "opt_shape", "max_shape")
    profiles = [i.profiles or [i.shape] for i in inputs]
    return [
        {i.name: tuple(one[b] for b in bounds) for i, one in zip(inputs, row, strict=True)}
        for row in zip(*profiles, strict=True)
    ]


def test_the_stand_in_has_the_keywords_of_torch_tensorrts_input(wheels: dict[str, zipfile.ZipFile]) -> None:
    source = wheels["torch_tensorrt"].read("torch_tensorrt/_Input.py").decode()
    assert [word for word in TorchInput.KEYWORDS if f'"{word}"' not in source] == []


def test_aitunes_own_profile_takes_the_export(wheels: dict[str, zipfile.ZipFile], tmp_path: Path) -> None:
    names = ("", ".torch", ".torch.module", ".torch.utils", ".torch.backend", ".torch.backend.tensorrt")
    packages: dict[str, Any] = {f"aitune{name}": types.ModuleType(f"aitune{name}") for name in names}
    files = ("exceptions", "torch/module/forward_signature", "torch/utils/tensor")
    own_files = (*files, "torch/backend/tensorrt/tensorrt_profile")
    later = {f"aitune.{file.replace('/', '.')}": None for file in own_files}
    with loaded({**packages, **later, "torch": stand_in_torch()}):
        modules = [source_as_module(wheels["aitune"], f"aitune/{file}.py", tmp_path) for file in own_files]
        source = export("aitune", document_of(encoder(), THREE), names={"input_ids": "args.0"})
        profiles = run(source, aitune_modules(modules[-1].TensorRTProfile))["profiles"]
    assert profiles[0].to_dict() == {
        "input_args_0": [(1, 16), (4, 32), (4, 64)],
        "input_attention_mask": [(1, 16), (4, 32), (4, 64)],
    }
    assert len(set(profiles)) == 3
