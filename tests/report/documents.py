"""Documents for the report's tests, each made by the real recommendation over recorded or made-up curves."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.measurements.recorded_files import GPU, summary
from tuner.axes import Size
from tuner.engines.spec import EngineSpec
from tuner.formula import axis_dimension
from tuner.measurements.measurement import BuiltEngine, Measurement, Mode
from tuner.measurements.opening import open_recorded
from tuner.measurements.store import open_store
from tuner.model import Model, TensorSpec
from tuner.profiles.profile import OptimizationProfile, ProfileSet
from tuner.recommendation.document import as_document, document_text
from tuner.recommendation.recommend import recommend
from tuner.recommendation.scored import RecommendSettings
from tuner.traffic.histogram import SizeHistogram
from tuner.traffic.traffic import Rejection, Traffic

SAMPLES = Path(__file__).parents[2] / "sample_logs"
EVIL = "<script>alert('input')</script>"
EVIL_AXES = ("<script>", "<b>")


@dataclass(frozen=True)
class Written:
    """A document, and the file and store that it lies in."""

    document: dict[str, Any]
    path: Path
    store: str


def bowl(opt: Sequence[int], size: Sequence[int]) -> float:
    """Work in microseconds, dearer by a tenth for each octave that an axis is away from the opt."""
    away = sum(abs(np.log2(s / o)) for s, o in zip(size, opt, strict=True))
    return float(np.prod(size)) ** 0.7 * 1e-3 * (1 + 0.1 * away)


def traffic_of(axes: Sequence[str], rows: Sequence[Sequence[int]], **facts: Any) -> Traffic:
    """Traffic of rows of sizes with their counts; the last of them is the holdout."""
    table = np.array(rows, dtype=np.int64)
    parts = [SizeHistogram(tuple(axes), part[:, :-1], part[:, -1]) for part in (table[:-1], table[-1:])]
    whole = SizeHistogram.merged(parts)
    return Traffic(
        histogram=whole,
        tune=parts[0],
        holdout=parts[1],
        holdout_by="time",
        row_count=int(table[:, -1].sum()),
        **facts,
    )


def made_up(
    folder: Path, axes: Sequence[str], ticks: Sequence[int], opts: Sequence[Sequence[int]], traffic: Traffic
) -> Written:
    """A recommendation over engines of which each was timed on the whole grid of `ticks`."""
    model = Model(
        "model <b>of</b> [logs]",
        (TensorSpec(EVIL, "float32", tuple(axis_dimension(axis) for axis in axes)),),
        content_hash="fedcba9876543210",
    )
    store_url = f"sqlite:///{folder}/tuner.db"
    with open_store(store_url) as store:
        for opt in opts:
            built = _engine(model, axes, ticks, opt)
            store.add_engine(model, built)
            times = [
                Measurement(
                    profile_index=0,
                    size=Size(tuple(axes), size),
                    mode=Mode.ENQUEUE,
                    summary=summary(bowl(opt, size)),
                )
                for size in itertools.product(ticks, repeat=len(axes))
            ]
            store.add_measurements(built.spec.key, built.repeat, times)
        found = recommend(traffic, open_recorded(store, None, model), RecommendSettings(), store_url)
    return written(folder, as_document(found), store_url)


def _engine(model: Model, axes: Sequence[str], ticks: Sequence[int], opt: Sequence[int]) -> BuiltEngine:
    low, high = (Size(tuple(axes), (value,) * len(axes)) for value in (min(ticks), max(ticks)))
    spec = EngineSpec(
        model_hash=model.content_hash or "",
        profiles=ProfileSet((OptimizationProfile(low, Size(tuple(axes), tuple(opt)), high),)),
        precision="fp16",
        builder_options="defaults",
        environment=GPU,
    )
    return BuiltEngine(spec=spec, name=str(opt), build_s=10.0, plan_bytes=100, device_memory_bytes=2**30)


def written(folder: Path, document: dict[str, Any], store: str) -> Written:
    path = folder / "profile.json"
    path.write_text(document_text(document), encoding="utf-8")
    return Written(json.loads(path.read_text(encoding="utf-8")), path, store)


EVIL_PLACE = '=HYPERLINK("x"), <img src=x onerror=alert(1)>.jsonl:3'


def evil(folder: Path) -> Written:
    """Two axes of which one is named like a script, and a rejected row in a file with an evil name."""
    rows = [(n, s, 10 * n + s) for n in (1, 2, 4, 8) for s in (1, 2, 4, 8)]
    rejected = {"missing": Rejection(7, EVIL_PLACE)}
    traffic = traffic_of(EVIL_AXES, rows, rejections=rejected, notes=(f"axis {EVIL} is a column",))
    return made_up(folder, EVIL_AXES, (1, 2, 4, 8), [(1, 1), (2, 8), (8, 8)], traffic)


def one_axis(folder: Path) -> Written:
    rows = [(n, 100 // n) for n in range(1, 33)]
    return made_up(
        folder, ("batch",), (1, 2, 4, 8, 16, 32), [(1,), (4,), (32,)], traffic_of(("batch",), rows)
    )


def three_axes(folder: Path) -> Written:
    axes = ("batch", "height", "width")
    rows = [(n, h, w, 5) for n in (1, 2) for h in (2, 4) for w in (2, 4, 8)]
    return made_up(folder, axes, (1, 2, 4, 8), [(1, 2, 2), (2, 4, 8)], traffic_of(axes, rows))


def many_sizes(folder: Path, count: int = 5_000) -> Written:
    """So many distinct sizes over two axes, most of them between the timed ones."""
    random = np.random.default_rng(1)
    drawn = np.unique(random.integers(1, 512, (3 * count, 2)), axis=0)
    rows = np.column_stack([drawn, random.integers(1, 100, len(drawn))])
    kept = rows[random.permutation(len(rows))[:count]]
    ticks = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    opts = [(1, 1), (16, 16), (64, 256), (512, 512)]
    return made_up(folder, ("batch", "seq"), ticks, opts, traffic_of(("batch", "seq"), kept.tolist()))
