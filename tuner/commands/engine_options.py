"""The options of every command that builds or measures engines, and the bench they describe."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from tuner.commands.options import option
from tuner.errors import UsageError

if TYPE_CHECKING:
    from tuner.engines.builder import BuilderOptions
    from tuner.measurements.bench import Bench, BuildChoices, Tools
    from tuner.measurements.runner import ContextsTiming
    from tuner.measurements.store import Store
    from tuner.measurements.workshop import WorkshopSettings
    from tuner.model import Model
    from tuner.profiles.profile import OptimizationProfile

_engine = partial(option, rich_help_panel="Engines")

Precision = Annotated[str, _engine("--precision", "fp32, tf32, fp16, bf16, int8 or fp8.")]
Flavour = Annotated[str, _engine("--flavour", "TensorRT to use: tensorrt or tensorrt_rtx.")]
OptimizationLevel = Annotated[
    int | None, _engine("--optimization-level", "Builder optimization level.", min=0, max=5)
]
TacticSources = Annotated[
    str | None,
    _engine("--tactic-sources", "Libraries that tactics may come from, or none.", metavar="NAMES|none"),
]
Workspace = Annotated[
    str | None, _engine("--workspace", "Workspace limit to start from, like 1GiB.", metavar="SIZE")
]
WorkspaceCap = Annotated[str, _engine("--workspace-cap", "How far the limit may grow.", metavar="SIZE")]
TimingCache = Annotated[bool, _engine("--timing-cache", "Keep TensorRT's layer timings between builds.")]
VerifyOutputs = Annotated[
    bool, _engine("--verify-outputs", "Compare every engine's outputs with ONNX Runtime on the CPU.")
]
Folder = Annotated[str, _engine("--engine-folder", "Folder of plans and logs.", metavar="FOLDER")]
TimeLimit = Annotated[int, _engine("--time-limit", "Seconds that a build or a run may take.", min=1)]
MemoryLimit = Annotated[
    str | None, _engine("--memory-limit", "RAM that a build or a run may take, like 32GiB.", metavar="SIZE")
]
Device = Annotated[int, _engine("--device", "Index of the GPU.", min=0)]

DEFAULT_FOLDER = ".tuner"
DEFAULT_WORKSPACE_CAP = "16GiB"
DEFAULT_TIME_LIMIT = 1800

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)


def byte_count(flag: str, text: str) -> int:
    """`1GiB`, `512M` or plain bytes as a number of bytes; prefixes are powers of 1024."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{flag} '{text}' cannot be read; write it like {flag} 1GiB")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def builder_options(given: dict[str, Any]) -> BuilderOptions:
    """The builder options of a command; `given` holds them under their parameters' names."""
    from tuner.engines.builder import BuilderOptions

    sources = given["tactic_sources"]
    names = None if sources is None else tuple(s for s in sources.split(",") if s and s != "none")
    workspace = given["workspace"]
    return BuilderOptions(
        optimization_level=given["optimization_level"],
        tactic_sources=names,
        workspace_bytes=None if workspace is None else byte_count("--workspace", workspace),
        workspace_cap_bytes=byte_count("--workspace-cap", given["workspace_cap"]),
    )


def wishes(given: dict[str, Any]) -> str:
    """What is wanted of an engine, in a text that changes where any of it does."""
    return f"{given['flavour']} {given['precision']} {builder_options(given).text}"


def build_choices(given: dict[str, Any]) -> BuildChoices:
    from tuner.engines.builder import PRECISIONS
    from tuner.measurements.bench import BuildChoices

    if given["precision"] not in PRECISIONS:
        raise UsageError(f"--precision is '{given['precision']}'; accepted are {', '.join(PRECISIONS)}")
    return BuildChoices(
        precision=given["precision"],
        options=builder_options(given),
        use_timing_cache=given["timing_cache"],
        verify_outputs=given["verify_outputs"],
    )


def workshop_settings(given: dict[str, Any]) -> WorkshopSettings:
    """Where plans and logs lie, and what a build or a run may use."""
    from pathlib import Path

    from tuner.measurements.workshop import WorkshopSettings

    memory = given["memory_limit"]
    return WorkshopSettings(
        flavour=given["flavour"],
        folder=Path(given["engine_folder"]).resolve(),
        build_seconds=given["time_limit"],
        measure_seconds=given["time_limit"],
        memory_bytes=None if memory is None else byte_count("--memory-limit", memory),
        device_index=given["device"],
    )


def tools(given: dict[str, Any], *, needs_gpu: bool) -> Tools:
    from tuner.measurements.workshop import set_up

    return set_up(workshop_settings(given), needs_gpu=needs_gpu)


def bench(given: dict[str, Any], model: Model, store: Store, own_tools: Tools | None = None) -> Bench:
    """The bench for the model of a command, on this machine's GPU or with the tools that are given."""
    from pathlib import Path

    from tuner.measurements.bench import Bench
    from tuner.measurements.input_fill import fill_for

    path, choices = Path(given["model"]), build_choices(given)  # a wrong option before a missing package
    return Bench(
        model=model,
        model_path=path.resolve(),
        store=store,
        tools=own_tools or tools(given, needs_gpu=True),
        fill=fill_for(model, path),
        choices=choices,
    )


def contexts_timed(
    bench: Bench, store: Store, profile: OptimizationProfile, counts: str | None
) -> list[ContextsTiming]:
    """The opt of a profile in so many execution contexts at once (`1,2,4`); nothing where none were asked.

    What the store has is not timed again. A profile serves one context at a time, so the engine for it has
    the profile as often as needed.
    """
    from tuner.errors import BuildFailed
    from tuner.measurements.sharing import add_contexts, stored_contexts
    from tuner.profiles.profile import ProfileSet

    if counts is None:
        return []
    if not all(part.strip().isdigit() and int(part) > 0 for part in counts.split(",")):
        raise UsageError(f"--contexts '{counts}' cannot be read; write it like --contexts 1,2,4")
    wanted = [int(part) for part in counts.split(",")]
    engine = bench.built(bench.spec(ProfileSet((profile,) * max(wanted))))
    if not engine.is_built:
        raise BuildFailed(engine.reason or "not known", engine.outcome)
    known = {one.contexts for one in stored_contexts(store, engine, profile.opt)}
    missing = [count for count in wanted if count not in known]
    if missing:
        timed = bench.time_contexts(engine, profile.opt, missing)
        add_contexts(store, engine, profile.opt, timed)
    return [t for t in stored_contexts(store, engine, profile.opt) if t.contexts in wanted]
