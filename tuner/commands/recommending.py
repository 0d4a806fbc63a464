"""What `recommend` does between its options and its output: opens the source, reads the logs, searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands import (
    batching_options,
    cluster_options,
    deployed_options,
    export_options,
    options,
)
from tuner.commands.prepared import prepared

if TYPE_CHECKING:
    from tuner.recommendation.recommendation import Recommendation


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
        found = prepared(given, model, store, cluster).decided(settings)
        publish(given, found, started)
    return found


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
