"""Every caveat has a measurement that triggers it, and tells what to do."""

from __future__ import annotations

import dataclasses

import pytest

from tuner.measurements.caveats import Circumstances, caveats_of, flat_curve
from tuner.measurements.gpu_state import GpuState
from tuner.measurements.timing import summarise

CALM = Circumstances(summary=summarise([1.0] * 20), visits=((1.0,) * 10, (1.0,) * 10))


def kinds(**changes: object) -> list[str]:
    return [caveat.kind for caveat in caveats_of(dataclasses.replace(CALM, **changes))]  # type: ignore[arg-type]


def test_calm_measurement_has_no_caveat() -> None:
    assert kinds() == []


def test_host_that_is_slower_than_the_gpu_is_told() -> None:
    assert kinds(enqueue_ms=0.81) == ["enqueue_bound"]
    assert kinds(enqueue_ms=0.79) == []


def test_copies_longer_than_the_compute_are_told() -> None:
    assert kinds(h2d_ms=1.2, d2h_ms=0.2) == ["copy_bound"]


def test_varying_compute_time_is_told() -> None:
    samples = [1.0, 1.1] * 10
    assert kinds(summary=summarise(samples), visits=(tuple(samples),)) == ["unstable"]


def test_two_modes_are_told_with_their_share() -> None:
    samples = tuple([2.0] * 990 + [70.0] * 10)
    about = dataclasses.replace(CALM, summary=summarise(samples), visits=(samples,))
    texts = [str(caveat) for caveat in caveats_of(about)]
    assert any("two modes: 1.0% of samples are more than 10 times the median" in text for text in texts)


def test_median_that_moved_between_visits_is_told() -> None:
    assert kinds(visits=((1.0,) * 10, (1.02,) * 10)) == ["drift"]


def test_median_that_is_not_known_well_enough_is_told() -> None:
    assert kinds(is_precise=False) == ["imprecise"]


def test_throttling_counts_only_at_a_lower_clock() -> None:
    slowed = GpuState(sm_clock_mhz=1500, throttle_reasons=("power cap",))
    at_full_clock = dataclasses.replace(slowed, sm_clock_mhz=1980)
    assert kinds(gpu_states=(slowed,), highest_clock_mhz=1980) == ["throttled"]
    assert kinds(gpu_states=(at_full_clock,), highest_clock_mhz=1980) == []


def test_other_process_on_the_gpu_is_told() -> None:
    assert kinds(gpu_states=(GpuState(other_process_count=2),)) == ["shared"]


@pytest.mark.parametrize(
    ("ratio", "largest_ms", "is_flat"), [(64, 1.001, True), (64, 1.5, False), (1, 1.0, False)]
)
def test_curve_that_ignores_the_work_is_told(ratio: float, largest_ms: float, is_flat: bool) -> None:
    assert (flat_curve(1.0, largest_ms, work_ratio=ratio) is not None) == is_flat


def test_every_caveat_names_a_next_step() -> None:
    state = GpuState(sm_clock_mhz=100, throttle_reasons=("power cap",), other_process_count=1)
    samples = tuple([1.0] * 9 + [50.0])
    about = Circumstances(
        summary=summarise(samples * 2),
        visits=(samples, tuple(2 * ms for ms in samples)),
        is_precise=False,
        enqueue_ms=9.0,
        h2d_ms=9.0,
        gpu_states=(state,),
        highest_clock_mhz=200,
    )
    caveats = caveats_of(about)
    assert len(caveats) == 8
    assert all(caveat.next_step for caveat in caveats)
