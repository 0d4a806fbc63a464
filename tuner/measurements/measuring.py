"""Times all sizes of one engine in one go: a heating run, then several rounds in random order.

Each size is visited once a round, so its samples are spread over the whole time and a drift is seen; a
size's measurements are given as soon as its last visit is over.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tuner.errors import TunerError
from tuner.measurements.caveats import Circumstances, caveats_of
from tuner.measurements.gpu_state import GpuState
from tuner.measurements.measurement import Measurement, Mode
from tuner.measurements.runner import Runner, SizeTask, SizeTiming
from tuner.measurements.timing import SamplingRule, summarise

HEATING = SamplingRule(min_samples=10, max_samples=2000, precision=1e-9, max_ms=500)
"""Half a second of the heaviest size, so that clocks have risen before anything counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchCosts:
    """What the next inference takes longer, in ms: after another size, and after another profile.

    GPU compute time of the run after the change against that of a run after one of its own size, nothing else
    being changed and every run being waited for: what the host has to work out before it can launch is in it.
    Medians over changes between random sizes; None where there was no such change.
    """

    size_ms: float | None
    profile_ms: float | None


MOST_CHANGES = 200
MOST_CHANGES_MS = 1000.0
"""Changes that their costs are medians of, and the GPU time after which there are no more."""

ReadState = Callable[[], GpuState | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visiting:
    """How sizes are visited: by which rule, how often, in which random order.

    With three rounds the medians of one engine deviate by less than 1 % from one process to another; a fourth
    adds nothing (`tests/benchmarks/process_spread.py` on an H200).
    """

    rule: SamplingRule = field(default_factory=SamplingRule)
    rounds: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise TunerError(f"{self.rounds} rounds; each size needs at least one visit")


@dataclass(slots=True)
class _Visits:
    timings: list[SizeTiming]
    states: list[GpuState]


def measure_tasks(
    runner: Runner, tasks: Sequence[SizeTask], visiting: Visiting, *, fill: str, read_state: ReadState
) -> Iterator[Measurement | SwitchCosts]:
    """Measurements of every task in every mode, then what changes cost.

    The GPU's state is read after each visit, outside of what is timed.
    """
    if not tasks:
        return
    runner.time(max(tasks, key=lambda task: task.size.work), HEATING)
    visits = [_Visits([], []) for _ in tasks]
    order = list(range(len(tasks)))
    highest = 0
    for round_number in range(visiting.rounds):
        random.Random(f"{visiting.seed}/{round_number}").shuffle(order)
        for i in order:
            timing = runner.time(tasks[i], visiting.rule)
            visits[i].timings.append(timing)
            state = read_state()
            if state is not None:
                visits[i].states.append(state)
                highest = max(highest, state.sm_clock_mhz or 0)
            if round_number == visiting.rounds - 1:
                yield from _measurements(tasks[i], visits[i], fill, highest)
    yield _switch_costs(runner, tasks, random.Random(f"{visiting.seed}/changes"))


def _switch_costs(runner: Runner, tasks: Sequence[SizeTask], order: random.Random) -> SwitchCosts:
    costs: dict[bool, list[float]] = {True: [], False: []}
    spent_ms = 0.0
    for _ in range(MOST_CHANGES if len(tasks) > 1 else 0):
        before, after = order.sample(tasks, 2)
        change = runner.time_change(before, after)
        costs[before.profile_index == after.profile_index].append(change.changed_ms - change.steady_ms)
        spent_ms += change.changed_ms + change.steady_ms
        if spent_ms > MOST_CHANGES_MS:
            break
    return SwitchCosts(size_ms=_median(costs[True]), profile_ms=_median(costs[False]))


def _measurements(task: SizeTask, visits: _Visits, fill: str, highest: int) -> Iterator[Measurement]:
    timings = visits.timings
    for mode in Mode:
        if not all(mode in timing.samples_ms for timing in timings):
            continue
        by_visit = tuple(timing.samples_ms[mode] for timing in timings)
        samples = tuple(ms for visit in by_visit for ms in visit)
        summary = summarise(samples)
        enqueue_ms = _median(timing.enqueue_ms for timing in timings) if mode is Mode.ENQUEUE else None
        h2d_ms, d2h_ms = _median(t.h2d_ms for t in timings), _median(t.d2h_ms for t in timings)
        about = Circumstances(
            summary=summary,
            visits=by_visit,
            is_precise=all(mode in timing.precise for timing in timings),
            enqueue_ms=enqueue_ms,
            h2d_ms=h2d_ms,
            d2h_ms=d2h_ms,
            gpu_states=tuple(visits.states),
            highest_clock_mhz=highest or None,
        )
        busy = _median(state.utilisation for state in visits.states)
        yield Measurement(
            profile_index=task.profile_index,
            size=task.size,
            mode=mode,
            summary=summary,
            input_fill=fill,
            first_run_ms=timings[0].first_run_ms,
            h2d_ms=h2d_ms,
            d2h_ms=d2h_ms,
            enqueue_ms=enqueue_ms,
            utilisation=busy,
            samples_ms=samples,
            caveats=tuple(str(caveat) for caveat in caveats_of(about)),
        )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
