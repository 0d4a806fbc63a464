"""What `recommend` does between its options and its output: opens the source, reads the logs, searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tuner.commands import (
    batching_options,
    cluster_options,
    deployed_options,
    engine_options,
    export_options,
    options,
)
from tuner.commands.building_place import building_place

if TYPE_CHECKING:
    from tuner.cluster.cluster import Cluster
    from tuner.commands.building_place import BuildingPlace
    from tuner.measurements.source import ProfileSource
    from tuner.measurements.store import Store
    from tuner.model import Model
    from tuner.recommendation.batching import BatchingSettings
    from tuner.recommendation.recommendation import Recommendation
    from tuner.recommendation.scored import RecommendSettings
    from tuner.search.study import Trial
    from tuner.traffic.traffic import Traffic


def by_rule(given: dict[str, Any]) -> Recommendation:
    """A recommendation by rule: logs and perhaps a model in, nothing measured."""
    from tuner.commands.publishing import publish
    from tuner.commands.reading import read_logs
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.by_rule import recommend_by_rule

    model = read_onnx(given["model"]) if given["model"] else None
    cap = options.whole_numbers("--cap", given["cap"])
    with cluster_options.joined_cluster(given) as cluster:
        traffic = read_logs(given, model, cluster)
    found = recommend_by_rule(traffic, model, given["rule"], profiles=given["profiles"] or 1, cap=cap)
    publish(given, found, None)
    return found


def by_measurements(given: dict[str, Any]) -> Recommendation:
    """A recommendation judged by recorded curves, or by engines built here or on a cluster.

    The document is written and the night stored before this returns.
    """
    from tuner.commands.publishing import Started, publish
    from tuner.commands.stopping import saying_what_is_saved
    from tuner.measurements.store import open_store
    from tuner.onnx_file import read_onnx

    settings = options.recommend_settings(given)
    deployed_options.read_deployed_file(given)  # a wrong one is said before anything is measured
    model = read_onnx(given["model"]) if given["model"] else None
    with (
        open_store(given["store"]) as store,
        saying_what_is_saved(store),
        cluster_options.joined_cluster(given) as cluster,
    ):
        started = Started.now(store)
        found = _overnight(given, (model, store, cluster), settings)
        publish(given, found, started)
    return found


def _overnight(
    given: dict[str, Any], rests_on: tuple[Model | None, Store, Cluster | None], settings: RecommendSettings
) -> Recommendation:
    from tuner.commands.reading import read_logs
    from tuner.measurements.opening import open_recorded
    from tuner.recommendation.overnight import recommend_overnight

    model, store, cluster = rests_on
    place = building_place(given, cluster) if model is not None and given["measurements"] is None else None
    if model is not None and place is not None:
        traffic = read_logs(given, model, cluster)
        stored = deployed_options.stored_curves(given, store, model)
        wishes = f"{engine_options.wishes(given)} {place.told}"
    else:
        stored = open_recorded(store, given["measurements"], model)
        traffic = read_logs(given, stored.model, cluster)
        wishes = ""
    settings = _with_several_at_once(given, settings, place)

    def opened() -> ProfileSource:
        source = stored
        if model is not None and place is not None:
            source = place.source(given, model, store, traffic)
        assert not isinstance(source, str)  # without a GPU there are stored curves, or an error before this
        return source

    batching = batching_options.batching_settings(given)
    if batching is not None:
        source = opened()
        batching = batching_options.with_deployed(batching, given, source.model.axes)
        return _batched(given, traffic, source, (settings, batching), store)

    def search() -> tuple[Recommendation, ProfileSource]:
        source = opened()
        return _searched(given, traffic, source, settings, store), source

    night = deployed_options.night_of(given, store, stored, wishes)
    return recommend_overnight(traffic, night, settings, search)


def _with_several_at_once(
    given: dict[str, Any], settings: RecommendSettings, place: BuildingPlace | None
) -> RecommendSettings:
    at_once = given["at_once"] or (place.at_once if place is not None else 1)
    return replace(settings, search=replace(settings.search, at_once=at_once))


def _searched(
    given: dict[str, Any],
    traffic: Traffic,
    source: ProfileSource,
    settings: RecommendSettings,
    store: Store,
) -> Recommendation:
    from tuner.commands.console import progress_bar
    from tuner.recommendation.recommend import recommend as run

    with progress_bar("searching", quiet=given["quiet"], is_counted=True) as advance:
        return run(
            traffic,
            source,
            settings,
            store.url,
            lambda trial, left: advance(trial.number + 1, trial.number + 1 + left, _doing(trial)),
            confirm=getattr(source, "confirm", None),
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
    from tuner.recommendation.recommend_batched import recommend_batched
    from tuner.traffic.reading_arrivals import read_arrivals

    arrivals = read_arrivals(options.log_settings(given), source.model, given["latency"])
    with progress_bar("trying batchers", quiet=given["quiet"]) as advance:
        return recommend_batched(
            (traffic, arrivals),
            source,
            settings,
            store.url,
            (None, lambda done, total: advance(done, total, f"batcher {done} of {total}")),
        )


def _doing(trial: Trial) -> str:
    """The profile that was just tried, and the best score so far."""
    best = "" if trial.value is None else f", best {trial.value:.4g} ms"
    return f"opt {trial.profile.opt.short}{best}"


def check_outputs(given: dict[str, Any]) -> None:
    """Raise TunerError for an output that could not be written, before anything is measured.

    So too for a batcher that makes no sense, and where what replays it is not installed.
    """
    from tuner.recommendation.output_file import check_writable

    if batching_options.batching_settings(given) is not None:
        from tuner.replay import compiled  # noqa: F401  # importing it says what is missing
    check_writable(given["out"])
    if given["report"] is not None:
        from tuner.commands.report import check_report, format_of

        check_report(given["report"], format_of(None, given["report"]))
    if given["to"] is not None:
        export_options.check_export(given)


def show(given: dict[str, Any], found: Recommendation) -> None:
    """Print the result, and write the report and the export that were asked for."""
    from tuner.recommendation.document import as_document, document_text

    document = as_document(found)
    if given["report"] is not None:
        from tuner.commands.report import format_of, write_report

        write_report(document, given["store"], given["report"], format_of(None, given["report"]))
    if given["as_json"]:
        print(document_text(document), end="")
    elif not given["quiet"]:
        _print_tables(given, found)
    if given["to"] is not None:
        export_options.write_export({**given, "document": given["out"]})


def _print_tables(given: dict[str, Any], found: Recommendation) -> None:
    from tuner.commands.console import results
    from tuner.report.terminal import recommendation_view

    results().print(recommendation_view(found, explain=given["explain"]))
    if found.batching is not None:
        from tuner.report.batching_view import batching_view

        results().print(batching_view(found.batching))
    print(f"written: {given['out']}")
    if given["report"] is not None:
        print(f"written: {given['report']}")
