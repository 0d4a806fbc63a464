"""Contexts that share the GPU: stored once, and read back as total rates for engines of the same making."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.measurements.recorded_files import MODEL, engine
from tuner.axes import Size
from tuner.engines.spec import Environment
from tuner.measurements.recorded import RecordedSource
from tuner.measurements.runner import ContextsTiming
from tuner.measurements.sharing import add_contexts, stored_contexts, stored_rates
from tuner.measurements.source import SourceFacts
from tuner.measurements.store import Store, open_store

SIZE = Size.of(n=4)


def timing(contexts: int, inferences_per_s: float) -> ContextsTiming:
    return ContextsTiming(contexts=contexts, p50_ms=1.0, p99_ms=2.0, inferences_per_s=inferences_per_s)


def facts(environment: Environment | None = None) -> SourceFacts:
    recorded = engine(4) if environment is None else engine(4, environment=environment)
    return RecordedSource(MODEL, [recorded]).facts


def store_with(folder: Path, *timings: ContextsTiming) -> Store:
    store = open_store(f"sqlite:///{folder}/s.db")
    built = engine(4).engine
    store.add_engine(MODEL, built)
    add_contexts(store, built, SIZE, timings)
    return store


def test_rate_between_timed_numbers_of_contexts_is_interpolated(tmp_path: Path) -> None:
    with store_with(tmp_path, timing(1, 100.0), timing(2, 140.0), timing(4, 160.0)) as store:
        assert stored_rates(store, MODEL.content_hash, facts()) == pytest.approx((1.0, 1.4, 1.5, 1.6))


def test_contexts_of_another_gpu_or_model_do_not_count(tmp_path: Path) -> None:
    with store_with(tmp_path, timing(1, 100.0), timing(2, 140.0)) as store:
        other = Environment(gpu="Other GPU", tensorrt="8.6.0")
        assert stored_rates(store, MODEL.content_hash, facts(other)) is None
        assert stored_rates(store, "fedcba", facts()) is None


@pytest.mark.parametrize("counts", [(1,), (2, 4)])
def test_contexts_that_were_not_timed_alone_and_together_tell_no_rate(
    tmp_path: Path, counts: tuple[int, ...]
) -> None:
    with store_with(tmp_path, *(timing(count, 100.0) for count in counts)) as store:
        assert stored_rates(store, MODEL.content_hash, facts()) is None


def test_what_is_stored_is_kept(tmp_path: Path) -> None:
    with store_with(tmp_path, timing(1, 100.0)) as store:
        add_contexts(store, engine(4).engine, SIZE, [timing(1, 7.0), timing(2, 140.0)])
        assert stored_contexts(store, engine(4).engine, SIZE) == [timing(1, 100.0), timing(2, 140.0)]
