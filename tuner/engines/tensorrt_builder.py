"""Builds one engine with TensorRT in this process: parse, profiles, settings, plan, and all the checks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tuner.engines.builder import BuilderOptions, BuildJob, BuiltPlan
from tuner.engines.plan_file import write_whole
from tuner.engines.tensorrt_api import Log, TensorRT, device_memory_bytes, load_tensorrt, network_precisions
from tuner.engines.tensorrt_profiles import add_profiles, check_inputs, compare_with_engine
from tuner.engines.timing_cache import TimingCache
from tuner.errors import BuildFailed

if TYPE_CHECKING:
    from tuner.engines.tensorrt_api import trt

WORKSPACE_TROUBLE = r"could not find any implementation|insufficient workspace"
MEMORY_TROUBLE = r"out of memory|OutOfMemory|cudaErrorMemoryAllocation"
NARROWER: dict[str, str] = {"fp16": "float16", "bf16": "bfloat16", "fp8": "float8e4m3fn", "int8": "int8"}
"""The dtype that a network must hold for a precision to be real where types are strong."""


def build_here(job: BuildJob, trt_api: TensorRT | None = None) -> BuiltPlan:
    """Write the plan of a job; BuildFailed with kind and reason where there is none."""
    api = trt_api or load_tensorrt(job.flavour)
    log = Log()
    logger = api.logger(log)
    started = time.perf_counter()
    builder = api.builder(logger)
    network = api.network(builder)
    api.parse(network, logger, job.model_path)
    check_inputs(network, job.inputs)
    config = builder.create_builder_config()
    precision = set_precision(api, network, config, job.precision)
    _set_options(api, config, job.options)
    add_profiles(builder, network, config, job.inputs)
    cache = TimingCache(config, log, job.timing_cache)
    plan, workspace = _serialized(api, builder, network, config, (job.options, log))
    build_s = time.perf_counter() - started
    digest, plan_bytes = write_whole(Path(job.plan_path), plan)
    cache.save()
    read_from, memory = _read_back(api, logger, plan, job)
    return BuiltPlan(
        plan_path=job.plan_path,
        plan_bytes=plan_bytes,
        plan_digest=digest,
        build_s=build_s,
        precision=precision,
        tensorrt=api.version,
        profiles_read_from=read_from,
        device_memory_bytes=memory,
        workspace_bytes=workspace,
        timing_cache=cache.state,
        warnings=tuple(dict.fromkeys(log.errors)),
    )


def set_precision(
    api: TensorRT, network: trt.INetworkDefinition, config: trt.IBuilderConfig, asked: str
) -> str:
    """Set what was asked for and give back the precision that the engine will really have."""
    if not api.is_strongly_typed:
        api.set_precision(config, asked)
        return asked
    held = network_precisions(network)
    real = next((p for p in ("fp8", "int8", "fp16", "bf16") if NARROWER[p] in held), "fp32")
    if asked in ("fp32", "tf32") and real == "fp32":
        api.set_tf32(config, asked == "tf32")
        return asked
    if NARROWER.get(asked) not in held:
        raise BuildFailed(
            f"precision {asked} would be ignored: {api.flavour} {api.version} builds a network in the "
            f"types that it holds, and this is an {real.upper()} model; convert it to {asked.upper()} first "
            f"(NVIDIA Model Optimizer does that for ONNX files), or pass --precision {real}",
            "precision",
        )
    return asked


def _set_options(api: TensorRT, config: trt.IBuilderConfig, options: BuilderOptions) -> None:
    if options.optimization_level is not None:
        config.builder_optimization_level = options.optimization_level
    if options.tactic_sources is not None:
        api.set_tactic_sources(config, options.tactic_sources)


def _serialized(
    api: TensorRT,
    builder: trt.Builder,
    network: trt.INetworkDefinition,
    config: trt.IBuilderConfig,
    told: tuple[BuilderOptions, Log],
) -> tuple[Any, int | None]:
    """The plan and the workspace limit it needed; the limit doubles while that is what is lacking."""
    options, log = told
    limit = options.workspace_bytes
    while True:
        if limit is not None:
            api.set_workspace(config, limit)
        log.messages.clear()
        plan = builder.build_serialized_network(network, config)
        if plan is not None:
            return plan, limit
        lacking = log.matching(WORKSPACE_TROUBLE)
        reason = (log.errors or ["TensorRT gave no reason"])[-1]
        full = log.matching(MEMORY_TROUBLE)
        if full is not None:
            raise BuildFailed(f"the GPU ran out of memory: {full}; lower the max with --cap", "gpu_memory")
        if lacking is None or limit is None or limit >= options.workspace_cap_bytes:
            kind = "workspace" if lacking else "builder"
            hint = "; a larger --workspace may help" if lacking and limit is not None else ""
            raise BuildFailed(f"TensorRT built no engine: {lacking or reason}{hint}", kind)
        limit = min(2 * limit, options.workspace_cap_bytes)


def _read_back(api: TensorRT, logger: trt.ILogger, plan: Any, job: BuildJob) -> tuple[str, int | None]:
    """Who confirmed the profiles, and the device memory where the engine could say it."""
    if not job.needs_gpu:
        return "builder", None
    # The runtime is kept to the end: an engine must not outlive it.
    runtime, engine = api.engine_from(logger, plan)
    if engine is None:
        raise BuildFailed(f"{api.flavour} cannot open the engine that it just built on this GPU", "builder")
    compare_with_engine(engine, job.inputs)
    memory = device_memory_bytes(engine)
    del engine, runtime
    return "engine", memory
