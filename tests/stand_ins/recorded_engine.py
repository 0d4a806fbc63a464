"""Stand-ins for builder and runner: plans are small JSON files, times come from recorded measurements.

As scripts they are the children of a build (`build`) and of a measuring run (`measure`). A file named
`slow` beside the plan makes both slow, so that a test can kill them half way.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tuner.axes import Size
from tuner.engines.builder import BuildJob, BuiltPlan
from tuner.engines.child import Answer, Send, serve
from tuner.engines.plan_file import write_whole
from tuner.engines.tensorrt_profiles import check_range
from tuner.errors import BuildFailed, RunFailed
from tuner.measurements.curve import Curve
from tuner.measurements.flat_parquet import read_flat
from tuner.measurements.input_fill import InputFill
from tuner.measurements.measure_child import answer_with
from tuner.measurements.measurement import Mode
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.runner import Change, EngineFacts, OutputCheck, SizeTask, SizeTiming
from tuner.measurements.source import MeasuredProfile
from tuner.measurements.timing import SamplingRule
from tuner.profiles.profile import OptimizationProfile

RECORDED = Path(__file__).parents[2] / "sample_logs" / "h200_trt86_encoder6.parquet"
AXES = ("batch", "seq")
SLOW_S = 0.3


def build_recorded(job: BuildJob) -> BuiltPlan:
    """A plan that names its profiles by their ranges of the first input, which are the axes."""
    tensor = job.inputs[0]
    ranges = [check_range(tensor, i) for i in range(len(tensor.ranges))]
    if any(r.max[1] > 512 for r in ranges):
        raise BuildFailed("could not find any implementation for node 'attention'", "workspace")
    if (Path(job.plan_path).parent / "slow").exists():
        time.sleep(60)
    text = json.dumps([[r.min, r.opt, r.max] for r in ranges])
    digest, plan_bytes = write_whole(Path(job.plan_path), text.encode())
    return BuiltPlan(
        plan_path=job.plan_path,
        plan_bytes=plan_bytes,
        plan_digest=digest,
        build_s=24.0,
        precision=job.precision,
        tensorrt="8.6.0",
        profiles_read_from="engine",
        device_memory_bytes=1 << 30,
        workspace_bytes=job.options.workspace_bytes and len(ranges) * job.options.workspace_bytes,
    )


@dataclass
class RecordedRunner:
    """Answers with the recorded median of the profile with the nearest opt, and a little seeded noise."""

    curves: Mapping[int, Mapping[Mode, Curve]] | None = None
    delay_s: float = 0.0

    def open(self, plan_path: Path, fill: InputFill) -> EngineFacts:
        flat = read_flat(RECORDED)
        source = RecordedSource(flat.model, flat.engines)
        curves: dict[int, Mapping[Mode, Curve]] = {}
        slow = ("slow", "slow_timing")
        self.delay_s = SLOW_S if any((plan_path.parent / name).exists() for name in slow) else 0.0
        for index, bounds in enumerate(json.loads(plan_path.read_text())):
            profile = OptimizationProfile(*(Size(AXES, tuple(b)) for b in bounds))
            recorded = source.measure(_nearest(source, profile), np.zeros((0, 2), np.int64))
            assert isinstance(recorded, MeasuredProfile)  # it is one of the source's own
            curves[index] = {m: Curve(profile, c.sizes, c.latency_ms) for m, c in recorded.curves.items()}
        self.curves = curves
        return EngineFacts(tensorrt="8.6.0", profile_count=len(curves), device_memory_bytes=1 << 30)

    def time(self, task: SizeTask, rule: SamplingRule, check: OutputCheck | None = None) -> SizeTiming:
        if self.curves is None:
            raise RunFailed("no engine is open", "engine")
        if task.profile_index not in self.curves:
            raise RunFailed(f"the engine has no profile {task.profile_index}", "profile")
        time.sleep(self.delay_s)
        samples = {}
        for mode, curve in self.curves[task.profile_index].items():
            median = float(curve.latencies(np.array([task.size.values]))[0][0])
            if not np.isfinite(median):
                raise RunFailed(f"the engine refuses {task.size}", "size")
            seed = _seed(f"{task.size}{mode}")
            noise = np.random.default_rng(seed).normal(1.0, 0.002, rule.min_samples)
            samples[mode] = tuple(float(ms) for ms in median * noise)
        return SizeTiming(
            samples_ms=samples,
            precise=frozenset(samples),
            first_run_ms=3 * samples[Mode.ENQUEUE][0],
            h2d_ms=0.01,
            d2h_ms=0.01,
            enqueue_ms=0.05,
        )

    def time_change(self, before: SizeTask, task: SizeTask) -> Change:
        return Change(changed_ms=0.51, steady_ms=0.5)

    def close(self) -> None:
        self.curves = None


def _nearest(source: RecordedSource, profile: OptimizationProfile) -> OptimizationProfile:
    """The recorded profile over the whole grid whose opt is nearest by ratio."""
    widest = max(p.max.work for p in source.candidates())
    whole = [p for p in source.candidates() if p.max.work == widest]
    wanted = np.log(profile.opt.values)
    return min(whole, key=lambda p: float(np.abs(np.log(p.opt.values) - wanted).sum()))


def _seed(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def build_answer(request: Answer, send: Send) -> None:
    if "describe" in request:
        send({"version": "8.6.0"})
        return
    send({"built": build_recorded(BuildJob.from_json(request["job"])).to_json()})


def measure_answer(request: Answer, send: Send) -> None:
    answer_with(RecordedRunner(), request, send, lambda: None)


if __name__ == "__main__":
    serve(build_answer if sys.argv.pop(1) == "build" else measure_answer)
