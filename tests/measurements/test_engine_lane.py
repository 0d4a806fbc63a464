"""Tests of what is timed and of sizes that are not what was asked, over a CUDA that has no GPU."""

from __future__ import annotations

import pytest

from tests.stand_ins.stub_cuda import CUDA, Context, Stream
from tuner.axes import Size
from tuner.errors import RunFailed
from tuner.measurements.engine_lane import Lane, time_lanes
from tuner.measurements.engine_tensors import EngineTensor
from tuner.measurements.input_fill import InputFill
from tuner.measurements.runner import SizeTask


def lane(*, done_s: float = 0.0, launch_s: float = 0.0) -> Lane:
    stream = Stream()
    tensors = (
        EngineTensor("x", "float32", is_input=True, is_on_host=False),
        EngineTensor("y", "float32", is_input=False, is_on_host=False),
    )
    context = Context(stream, done_s=done_s, launch_s=launch_s)
    return Lane(CUDA, context, stream, tensors, InputFill({}))  # type: ignore[arg-type]


def task(batch: int, *, output: tuple[int | None, ...] = (None, 8)) -> SizeTask:
    return SizeTask(
        size=Size.of(batch=batch),
        profile_index=0,
        shapes={"x": (batch, 16)},
        values={},
        outputs={"y": output},
    )


def test_time_is_that_of_the_gpu_and_not_of_the_launch() -> None:
    slow = lane(done_s=0.005, launch_s=0.0001)
    slow.put_size(task(1))
    times = slow.event_times(slow.enqueue, 5)
    assert all(4.9 < ms < 100 for ms in times)
    host_ms, gpu_ms = slow.run()
    assert host_ms > 4.9
    assert 4.9 < gpu_ms < 100


def test_inputs_are_filled_and_outputs_have_the_shape_of_the_size() -> None:
    one = lane()
    arrays = one.put_size(task(4))
    assert arrays["x"].shape == (4, 16)
    assert one.outputs()["y"].shape == (4, 8)


def test_size_that_the_engine_refuses_is_an_error() -> None:
    with pytest.raises(RunFailed, match=r"refuses \(9, 16\) at batch=9"):
        lane().put_size(task(9))


def test_size_that_reads_back_otherwise_is_an_error() -> None:
    one = lane()
    one.context.kept_shape = (2, 16)  # type: ignore[attr-defined]
    with pytest.raises(RunFailed, match=r"was set to \(4, 16\) for batch=4 but is \(2, 16\)"):
        one.put_size(task(4))


def test_output_of_another_shape_than_the_models_is_an_error() -> None:
    with pytest.raises(RunFailed, match=r"output y is \(4, 8\) at batch=4, the model says \(4, 9\)"):
        lane().put_size(task(4, output=(4, 9)))


def test_output_that_depends_on_the_data_is_an_error() -> None:
    one = lane()
    one.context.output_shape = (-1, 8)  # type: ignore[attr-defined]
    with pytest.raises(RunFailed, match="depends on the data") as caught:
        one.put_size(task(4))
    assert caught.value.kind == "data_dependent"


def test_memory_grows_and_is_reused_for_smaller_sizes() -> None:
    one = lane()
    one.put_size(task(8))
    pinned = one.tensors[0].pinned
    one.put_size(task(2))
    assert one.tensors[0].pinned is pinned


def test_size_is_put_again_without_new_inputs() -> None:
    one = lane()
    one.put_size(task(8))
    one.tensors[0].pinned[:4] = 7
    one.put_size_again(task(2))
    assert one.context.get_tensor_shape("x") == (2, 16)
    assert list(one.tensors[0].pinned[:4]) == [7] * 4


def test_size_that_was_never_put_is_not_put_again() -> None:
    one = lane()
    with pytest.raises(RunFailed, match="batch=2 was not put before"):
        one.put_size_again(task(2))
    one.put_size(task(2))
    with pytest.raises(RunFailed, match="batch=4 was not put before"):
        one.put_size_again(task(4))


def test_lanes_run_at_the_same_time() -> None:
    lanes = [lane(done_s=0.01) for _ in range(3)]
    for one in lanes:
        one.put_size(task(1))
    timing = time_lanes(lanes, 3)
    assert timing.contexts == 3
    assert 9.9 < timing.p50_ms < 200
    assert timing.inferences_per_s > 5
