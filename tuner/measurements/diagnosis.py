"""What this machine can do for tuning: installed packages, GPU, TensorRT flavours, store; what is missing."""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.errors import TunerError
from tuner.measurements.gpu_state import GpuFacts, gpu_facts, read_gpu_state

OLDEST_PYTHON = (3, 11)
LOADING_S = 120
"""How long a TensorRT flavour may take to load: a first import reads gigabytes of libraries."""

PACKAGES: Mapping[str, Mapping[str, str]] = {
    "": {
        "numpy": "numpy", "pandas": "pandas", "pyarrow": "pyarrow", "optuna": "optuna", "typer": "typer",
        "rich": "rich", "onnx": "onnx", "sqlalchemy": "sqlalchemy", "alembic": "alembic", "scipy": "scipy",
        "jsonschema": "jsonschema", "duckdb": "duckdb",
    },
    "gpu": {"pycuda": "pycuda", "cuda-bindings": "cuda.bindings", "nvidia-ml-py": "pynvml"},
    "verify": {"onnxruntime": "onnxruntime"},
    "report": {"plotly": "plotly", "jinja2": "jinja2"},
    "batching": {"numba": "numba"},
    "postgres": {"psycopg": "psycopg"},
    "s3": {"fsspec": "fsspec"},
    "ray": {"ray": "ray"},
}  # fmt: skip
"""For each extra (the first is the package itself) the name to install and the name to import."""

FLAVOURS: Mapping[str, tuple[str, str]] = {
    "tensorrt": ("gpu", "tensorrt"),
    "tensorrt_rtx": ("rtx", "tensorrt-rtx"),
}
"""For each import name of TensorRT the extra and the package that has it."""


class State(StrEnum):
    """Fine; not there, which only limits what can be done; or there and not working."""

    FINE = "ok"
    MISSING = "missing"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` says what to do about what is missing or broken."""

    name: str
    state: State
    detail: str
    advice: str = ""


def diagnose(store_url: str, device_index: int = 0) -> list[Finding]:
    """Everything that was looked at, in the order of the flow."""
    gpu = gpu_facts(device_index)
    return [_python(), *_packages(), _gpu(gpu, device_index), *_flavours(gpu), _store(store_url)]


def abilities(findings: list[Finding]) -> dict[str, bool]:
    """What can be done here, by what was found."""
    fine = {finding.name for finding in findings if finding.state is State.FINE}
    core = "packages" in fine
    return {
        "recommend from recorded measurements": core,
        "build engines": core and bool({"tensorrt", "tensorrt_rtx"} & fine),
        "build and time engines": core and {"GPU", "extra gpu", "tensorrt"} <= fine,
        "write HTML reports": core and "extra report" in fine,
    }


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", State.BROKEN, found, f"use Python {oldest} or newer")
    return Finding("Python", State.FINE, found)


def _packages() -> Iterator[Finding]:
    for extra, names in PACKAGES.items():
        install = f"pip install 'trt-profile-tuner[{extra}]'" if extra else "pip install trt-profile-tuner"
        problems = {name: why for name, module in names.items() if (why := _problem(module))}
        told = ", ".join(problems.get(name) or f"{name} {_version(name)}" for name in names)
        state = State.FINE
        if problems:
            absent = all(why.endswith("is not installed") for why in problems.values())
            state = State.MISSING if absent and extra else State.BROKEN
        title = f"extra {extra}" if extra else "packages"
        yield Finding(title, state, told, install if problems else "")


def _problem(module: str) -> str | None:
    """Why a module cannot be used, None where it can."""
    if find_spec(module.split(".")[0]) is None:
        return f"{module} is not installed"
    try:
        importlib.import_module(module)
    except (ImportError, OSError) as error:
        return f"{module} cannot be imported ({str(error).splitlines()[0]})"
    return None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"


def _gpu(gpu: GpuFacts | None, index: int) -> Finding:
    if gpu is None:
        advice = "with an NVIDIA GPU, install its driver and the extra gpu; without, judge by --measurements"
        return Finding("GPU", State.MISSING, f"no GPU {index} answers through NVML", advice)
    detail = f"{gpu.name}, {gpu.memory_bytes / 2**30:.0f} GiB, driver {gpu.driver}, CUDA {gpu.cuda}"
    state = read_gpu_state(index)
    if state is None:
        return Finding("GPU", State.FINE, detail)
    doubts = list(state.throttle_reasons)
    if state.other_process_count:
        doubts.append(f"{state.other_process_count} other processes")
    now = f"; now: {', '.join(doubts)}" if doubts else ""
    return Finding("GPU", State.FINE, detail + now, "measure when nothing else runs on it" if doubts else "")


def _flavours(gpu: GpuFacts | None) -> Iterator[Finding]:
    for flavour, (extra, package) in FLAVOURS.items():
        install = f"pip install 'trt-profile-tuner[{extra}]'"
        if find_spec(flavour) is None:
            needed = gpu is not None and flavour == "tensorrt"
            why = f"{package} is not installed" + (", so this GPU cannot be used" if needed else "")
            yield Finding(flavour, State.MISSING, why, install)
            continue
        try:
            # In a child: a library that does not fit the driver may take the whole process with it.
            with TemporaryDirectory(prefix="tuner-doctor-") as folder:
                found = ChildBuilder(Limits(seconds=LOADING_S), Path(folder)).describe(flavour)
        except TunerError as error:
            yield Finding(flavour, State.BROKEN, str(error), install)
        else:
            yield Finding(flavour, State.FINE, found)


def _store(url: str) -> Finding:
    from tuner.measurements.store import open_store

    path = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not path.exists():
        return Finding("store", State.FINE, f"{path} is not there yet; the first run makes it")
    try:
        with open_store(url) as store:
            models = store.models()
            count = sum(len(store.engines(model.content_hash)) for model in models)
            names = ", ".join(model.name for model in models) or "none"
            held = f"{store.shown_url}: {count} builds of {len(models)} models ({names})"
            return Finding("store", State.FINE, held)
    except TunerError as error:
        return Finding("store", State.BROKEN, str(error), "name another with --store")
