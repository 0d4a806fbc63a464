"""What the GPU was doing around a measurement, read through NVML; the only place that imports it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# NVML's clock event reasons that slow a measurement down (nvml.h); idle and application limits do not.
_THROTTLING: Mapping[int, str] = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One reading; None where the driver does not say. Clocks in MHz, power in W, utilisation 0 to 1."""

    sm_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    utilisation: float | None = None
    memory_used_bytes: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    other_process_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFacts:
    """What stays the same about a GPU and its driver."""

    name: str
    driver: str
    cuda: str
    memory_bytes: int


def load_nvml() -> ModuleType | None:
    """NVML, ready for use; None where it is not installed or finds no driver."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml  # type: ignore[no-any-return]  # the package has no types


def visible_gpu(index: int, visible: str | None) -> int | str:
    """NVML's index or UUID of the GPU that CUDA calls by this index under CUDA_VISIBLE_DEVICES.

    NVML counts all GPUs of the machine, CUDA those that are visible: a cluster gives each task one of them.
    """
    names = [name.strip() for name in (visible or "").split(",") if name.strip()]
    if index >= len(names):
        return index
    return int(names[index]) if names[index].isdigit() else names[index]


def _handle(nvml: Any, index: int) -> Any:
    gpu = visible_gpu(index, os.environ.get("CUDA_VISIBLE_DEVICES"))
    return (
        nvml.nvmlDeviceGetHandleByIndex(gpu) if isinstance(gpu, int) else nvml.nvmlDeviceGetHandleByUUID(gpu)
    )


def gpu_facts(index: int = 0) -> GpuFacts | None:
    """Name, driver and memory of a GPU; None where there is none."""
    nvml: Any = load_nvml()
    if nvml is None:
        return None
    try:
        handle = _handle(nvml, index)
    except nvml.NVMLError:
        return None
    cuda = nvml.nvmlSystemGetCudaDriverVersion_v2()
    return GpuFacts(
        name=_text(nvml.nvmlDeviceGetName(handle)),
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
        cuda=f"{cuda // 1000}.{cuda % 1000 // 10}",
        memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
    )


def read_gpu_state(index: int = 0, own: Iterable[int] = ()) -> GpuState | None:
    """One reading; processes in `own`, this one and its parent do not count as others."""
    nvml: Any = load_nvml()
    if nvml is None:
        return None
    try:
        handle = _handle(nvml, index)
    except nvml.NVMLError:
        return None

    def ask(question: Callable[[], Any]) -> Any:
        try:
            return question()
        except nvml.NVMLError:
            return None

    power = ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    rates = ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle))
    memory = ask(lambda: nvml.nvmlDeviceGetMemoryInfo(handle))
    reasons = ask(lambda: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)) or 0
    processes = ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle)) or []
    mine = {os.getpid(), os.getppid(), *own}
    return GpuState(
        sm_clock_mhz=ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
        memory_clock_mhz=ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
        temperature_c=ask(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
        power_w=None if power is None else power / 1000,
        utilisation=None if rates is None else rates.gpu / 100,
        memory_used_bytes=None if memory is None else int(memory.used),
        throttle_reasons=tuple(word for bit, word in _THROTTLING.items() if reasons & bit),
        other_process_count=sum(process.pid not in mine for process in processes),
    )


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
