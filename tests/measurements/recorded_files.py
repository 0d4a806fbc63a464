"""Small recorded engines for tests: a one-axis model whose latencies are a plain formula."""

from __future__ import annotations

from pathlib import Path

from tuner.axes import Size
from tuner.engines.spec import EngineSpec, Environment
from tuner.formula import axis_dimension
from tuner.measurements.flat_parquet import RecordedEngine, write_flat
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode, Summary
from tuner.model import Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet

MODEL = Model(
    "small", (TensorSpec("x", "float32", (axis_dimension("n"), 4)),), content_hash="0123456789abcdef"
)
SIZES = (1, 2, 4, 8)
GPU = Environment(gpu="Test GPU", tensorrt="8.6.0")


def summary(ms: float) -> Summary:
    return Summary(
        mean_ms=ms, std_ms=0.0, min_ms=ms, p50_ms=ms, p90_ms=ms, p99_ms=ms, max_ms=ms, sample_count=10
    )


def profile(opt: int, low: int = 1, high: int = 8) -> OptimizationProfile:
    return OptimizationProfile(Size.of(n=low), Size.of(n=opt), Size.of(n=high))


def latency_ms(opt: int, n: int) -> float:
    """Fast near the opt, slower in proportion to the distance from it."""
    return n * (1 + abs(n - opt) / 10)


def engine(
    opt: int, *, name: str | None = None, factor: float = 1.0, environment: Environment = GPU
) -> RecordedEngine:
    """One single-profile engine, timed at all sizes; `factor` makes another build of it differ."""
    spec = EngineSpec(
        model_hash=MODEL.content_hash or "",
        profiles=ProfileSet((profile(opt),)),
        precision="fp16",
        builder_options="defaults",
        environment=environment,
    )
    measurements = tuple(
        Measurement(
            profile_index=0,
            size=Size.of(n=n),
            mode=Mode.ENQUEUE,
            summary=summary(factor * latency_ms(opt, n)),
        )
        for n in SIZES
    )
    built = BuiltEngine(
        spec=spec, name=name or f"opt{opt}", build_s=1.5, plan_bytes=100, device_memory_bytes=1000
    )
    return RecordedEngine(built, measurements)


def write(path: Path, *engines: RecordedEngine) -> Path:
    write_flat(path, MODEL, engines)
    return path
