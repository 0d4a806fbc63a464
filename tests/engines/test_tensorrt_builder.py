"""Tests of the build over a stub that looks like different releases of TensorRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contracts.builder_contract import replaced, tiny_job, tiny_range
from tests.stand_ins.stub_tensorrt import HALF, StubTensorRT
from tuner.engines.builder import GIB, BuilderOptions, BuiltPlan
from tuner.engines.tensorrt_api import TensorRT, load_tensorrt
from tuner.engines.tensorrt_builder import build_here
from tuner.errors import BuildFailed, TunerError


def build(folder: Path, module: StubTensorRT, **changes: Any) -> BuiltPlan:
    job = replaced(tiny_job(folder, "tensorrt", tiny_range(1, 4, 8)), **changes)
    return build_here(job, TensorRT(module, "tensorrt"))


def strong(**more: Any) -> StubTensorRT:
    return StubTensorRT("11.0.0", has_fp16=False, **more)


def test_weakly_typed_release_gets_the_flag(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    assert build(tmp_path, module, precision="fp16").precision == "fp16"
    assert module.BuilderFlag["FP16"] in module.config.flags


def test_fp32_forbids_tf32(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    module.config.flags.add(module.BuilderFlag["TF32"])
    build(tmp_path, module, precision="fp32")
    assert module.config.flags == set()


def test_precision_that_the_release_lacks_lists_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"bf16: tensorrt 8\.6\.1 has no such flag; .* fp16, int8, fp8"):
        build(tmp_path, StubTensorRT("8.6.1"), precision="bf16")


def test_fp16_asked_of_an_fp32_model_is_an_error_where_types_are_strong(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"fp16 would be ignored.*FP32 model; convert it to FP16 first"):
        build(tmp_path, strong(), precision="fp16")
    assert not (tmp_path / "tiny.engine").exists()


def test_fp16_model_is_fp16_where_types_are_strong(tmp_path: Path) -> None:
    assert build(tmp_path, strong(model_dtype=HALF), precision="fp16").precision == "fp16"


def test_fp32_asked_of_an_fp16_model_is_an_error_where_types_are_strong(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"fp32 would be ignored.*FP16 model.*--precision fp16"):
        build(tmp_path, strong(model_dtype=HALF), precision="fp32")


def test_workspace_grows_in_steps_until_it_is_enough(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1", workspace_needed=3 * GIB)
    built = build(tmp_path, module, options=BuilderOptions(workspace_bytes=GIB))
    assert built.workspace_bytes == 4 * GIB


def test_workspace_that_never_suffices_ends_at_its_cap(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1", workspace_needed=100 * GIB)
    options = BuilderOptions(workspace_bytes=GIB, workspace_cap_bytes=4 * GIB)
    with pytest.raises(BuildFailed, match=r"Could not find any implementation.*--workspace") as caught:
        build(tmp_path, module, options=options)
    assert caught.value.kind == "workspace"
    assert module.config.workspace == 4 * GIB


def test_builder_that_gives_nothing_is_told_in_its_own_words(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    module._plan = lambda network, config: module.say("ERROR", "internal trouble")  # type: ignore[method-assign,func-returns-value]
    with pytest.raises(BuildFailed, match=r"built no engine: internal trouble") as caught:
        build(tmp_path, module)
    assert caught.value.kind == "builder"


def test_full_gpu_is_told_apart_from_a_small_workspace(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    trouble = "Requested amount of GPU memory could not be allocated: out of memory"
    module._plan = lambda network, config: module.say("ERROR", trouble)  # type: ignore[method-assign,func-returns-value]
    with pytest.raises(BuildFailed, match=r"ran out of memory.*--cap") as caught:
        build(tmp_path, module)
    assert caught.value.kind == "gpu_memory"


def test_missing_driver_alone_is_no_failure(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    plan = module._plan

    def complain(network: Any, config: Any) -> bytes | None:
        module.say("ERROR", "(cudaError 35: CUDA driver version is insufficient for CUDA runtime version)")
        return plan(network, config)

    module._plan = complain  # type: ignore[method-assign]
    assert build(tmp_path, module).warnings == ()


def test_new_timing_cache_is_written_but_not_called_used(tmp_path: Path) -> None:
    cache = tmp_path / "new.timing"
    assert build(tmp_path, StubTensorRT("8.6.1"), timing_cache=str(cache)).timing_cache == "none"
    assert cache.read_bytes() == b"learned"


def test_timing_cache_that_was_taken_is_called_used(tmp_path: Path) -> None:
    cache = tmp_path / "good.timing"
    cache.write_bytes(b"earlier")
    assert build(tmp_path, StubTensorRT("8.6.1"), timing_cache=str(cache)).timing_cache == "accepted"


@pytest.mark.parametrize("content", [b"bad magic", b"x" * 100])
def test_broken_timing_cache_is_refused_left_alone_and_never_set(tmp_path: Path, content: bytes) -> None:
    cache = tmp_path / "bad.timing"
    cache.write_bytes(content)
    built = build(tmp_path, StubTensorRT("8.6.1", cache_is_good=False), timing_cache=str(cache))
    assert built.timing_cache.startswith("refused: Serialization assertion failed")
    assert cache.read_bytes() == content


def test_timing_cache_that_fails_during_the_build_is_not_called_used(tmp_path: Path) -> None:
    cache = tmp_path / "useless.timing"
    cache.write_bytes(b"earlier")
    module = StubTensorRT("8.6.1")
    plan = module._plan

    def complain(network: Any, config: Any) -> bytes | None:
        module.say("ERROR", "Myelin error from unknown graph")
        return plan(network, config)

    module._plan = complain  # type: ignore[method-assign]
    assert build(tmp_path, module, timing_cache=str(cache)).timing_cache.startswith("refused")


def test_no_tactic_source_means_none_at_all(tmp_path: Path) -> None:
    module = StubTensorRT("8.6.1")
    build(tmp_path, module, options=BuilderOptions(tactic_sources=()))
    assert module.config.tactic_sources == 0


def test_unknown_flavour_lists_those_there_are() -> None:
    with pytest.raises(TunerError, match="'tensorflow' is unknown; accepted are tensorrt, tensorrt_rtx"):
        load_tensorrt("tensorflow")


def test_options_survive_their_text() -> None:
    options = BuilderOptions(optimization_level=4, tactic_sources=("cublas",), workspace_bytes=GIB)
    assert BuilderOptions.parse(options.text) == options
    assert BuilderOptions.parse(BuilderOptions().text) == BuilderOptions()


def test_options_that_cannot_be_read_are_told() -> None:
    with pytest.raises(TunerError, match="FP16 flag' cannot be read"):
        BuilderOptions.parse("FP16 flag")
    with pytest.raises(TunerError, match="optimization level 9; 0 to 5"):
        BuilderOptions(optimization_level=9)
