"""What `recommend` does between its options and its output: opens the source, reads the logs, searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands import engine_options, options

if TYPE_CHECKING:
    from tuner.measurements.built_source import BuiltSource
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.recommendation.batching import BatchingSettings
    from tuner.recommendation.confirm import Confirm
    from tuner.recommendation.recommendation import Recommendation
    from tuner.recommendation.scored import RecommendSettings
    from tuner.traffic.traffic import Traffic


def by_rule(given: dict[str, Any]) -> Recommendation:
    """A recommendation by rule: logs and perhaps a model in, nothing measured."""
    from tuner.commands.reading import read_logs
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.by_rule import recommend_by_rule

    model = read_onnx(given["model"]) if given["model"] else None
    cap = options.whole_numbers("--cap", given["cap"])
    return recommend_by_rule(
        read_logs(given, model), model, given["rule"], profiles=given["profiles"] or 1, cap=cap
    )


def by_measurements(given: dict[str, Any]) -> Recommendation:
    """A recommendation judged by recorded curves, or by engines built here where there is a GPU."""
    from tuner.commands.batching_options import batching_settings
    from tuner.commands.console import progress_bar
    from tuner.commands.reading import read_logs
    from tuner.measurements.gpu_state import gpu_facts
    from tuner.measurements.opening import open_recorded
    from tuner.measurements.store import open_store
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.recommend import recommend as run

    settings = options.recommend_settings(given)
    model = read_onnx(given["model"]) if given["model"] else None
    with open_store(given["store"]) as store:
        builds_here = model is not None and given["measurements"] is None and gpu_facts(given["device"])
        if model is not None and builds_here:
            traffic = read_logs(given, model)
            built = _built_source(given, model, store, traffic)
            source: ProfileSource = built
            confirm: Confirm | None = built.confirm
        else:
            source, confirm = open_recorded(store, given["measurements"], model), None
            traffic = read_logs(given, source.model)
        batching = batching_settings(given)
        if batching is not None:
            return _batched(given, traffic, source, (settings, batching), store)
        with progress_bar("searching", quiet=given["quiet"]) as advance:
            return run(
                traffic,
                source,
                settings,
                store.url,
                lambda trial, left: advance(
                    trial.number + 1, trial.number + 1 + left, f"opt {trial.profile.opt.short}"
                ),
                confirm=confirm,
            )


def _batched(
    given: dict[str, Any],
    traffic: Traffic,
    source: ProfileSource,
    settings: tuple[RecommendSettings, BatchingSettings],
    store: Store,
) -> Recommendation:
    """A recommendation for single requests behind a batcher."""
    from tuner.commands.console import progress_bar
    from tuner.commands.options import log_settings
    from tuner.recommendation.recommend_batched import recommend_batched
    from tuner.traffic.reading_arrivals import read_arrivals

    arrivals = read_arrivals(log_settings(given), source.model, given["latency"])
    with progress_bar("trying batchers", quiet=given["quiet"]) as advance:
        return recommend_batched(
            (traffic, arrivals),
            source,
            settings,
            store.url,
            (None, lambda done, total: advance(done, total, f"batcher {done} of {total}")),
        )


def _built_source(given: dict[str, Any], model: Model, store: Store, traffic: Traffic) -> BuiltSource:
    """Real engines: there is a model, a GPU, and nothing recorded was asked for."""
    from tuner.measurements.built_source import BuildBudget, BuiltSource
    from tuner.recommendation.scored import under_cap

    hours = given["max_hours"]
    budget = BuildBudget(builds=given["builds"], seconds=None if hours is None else hours * 3600)
    inside = under_cap(traffic.histogram, options.whole_numbers("--cap", given["cap"]))
    return BuiltSource(engine_options.bench(given, model, store), traffic.histogram.where(inside), budget)
