"""Engines that TensorRT-RTX really builds on two workers at once; only their times are made up."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import tuner
from tests.models import save
from tests.stand_ins import priced_engine
from tuner.axes import Size
from tuner.cluster.building import find_builders
from tuner.cluster.candidates import PlacesWish
from tuner.cluster.cluster import joined
from tuner.engines.child import Limits
from tuner.engines.child_builder import ChildBuilder
from tuner.engines.plan_store import PlanStore
from tuner.engines.spec import Environment
from tuner.measurements.bench import Bench, BuildChoices, Tools
from tuner.measurements.child_measurer import ChildMeasurer
from tuner.measurements.input_fill import InputFill
from tuner.measurements.store import open_store
from tuner.onnx_file import read_onnx
from tuner.profiles.profile import OptimizationProfile, ProfileSet

pytestmark = [pytest.mark.slow, pytest.mark.rtx]
pytest.importorskip("ray", reason="needs Ray: pip install 'trt-profile-tuner[ray]'")
pytest.importorskip("tensorrt_rtx", reason="needs TensorRT-RTX: pip install 'trt-profile-tuner[rtx]'")

FLAVOUR = "tensorrt_rtx"


def rtx_tools(folder: Path) -> Tools:
    """The real builder; nothing that it builds can run on a machine without a GPU."""
    builder = ChildBuilder(Limits(seconds=300), folder / "logs")
    program = (sys.executable, str(priced_engine.__file__))
    return Tools(
        builder=builder,
        measurer=ChildMeasurer(Limits(seconds=120), folder / "logs", program),
        plans=PlanStore(folder / "plans"),
        environment=Environment(gpu="none", tensorrt=builder.describe(FLAVOUR), flavour=FLAVOUR),
        gpu_bytes=None,
    )


def profile(model: Any, opt: int) -> ProfileSet:
    low, middle, high = (Size(model.axes, (n,)) for n in (1, opt, 8))
    return ProfileSet((OptimizationProfile(low, middle, high),))


def test_real_builds_on_two_workers_are_stored_with_their_times(two_nodes: Any, tmp_path: Path) -> None:
    path = save("tiny", tmp_path / "tiny.onnx")
    model = read_onnx(path)
    with (
        joined(two_nodes.address, tuner.__version__) as cluster,
        open_store(f"sqlite:///{tmp_path}/there.db") as store,
    ):
        builders = find_builders(cluster, None, partial(rtx_tools, tmp_path / "nodes"))
        bench = Bench(
            model=model,
            model_path=path,
            store=store,
            tools=builders.tools,
            fill=InputFill({}),
            choices=BuildChoices(precision="fp32"),
        )
        crew = builders.crew(bench)
        places = [(0, Size(model.axes, (n,))) for n in (1, 8)]
        wishes = [PlacesWish(profile(model, opt), tuple(places)) for opt in (1, 4, 8)]
        for wish in wishes:
            crew.start(wish)
        for wish in wishes:
            engine = crew.answer(partial(bench.swept, wish.profiles, places), wish)
            plan = tmp_path / "nodes" / "plans" / f"{engine.spec.key}.0.engine"
            assert plan.stat().st_size == engine.plan_bytes
            times = {m.size.work: m.summary.p50_ms for m in store.measurements(engine.spec.key, 0)}
            assert times == pytest.approx({1: 0.101, 8: 0.108})
        assert {engine.spec.environment.flavour for engine in store.engines()} == {FLAVOUR}
