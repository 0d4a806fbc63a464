"""What `recommend` does before and after: checks what was asked; writes, shows and exports what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.commands import export_options
from tuner.errors import TunerError

if TYPE_CHECKING:
    from tuner.recommendation.recommendation import Recommendation


def check_asked(given: dict[str, Any]) -> None:
    """Raise before any work where nothing can be judged, or where an output could not be written later."""
    from tuner.commands.batching_options import batching_settings
    from tuner.recommendation.output_file import check_writable

    if given["rule"] is None and given["model"] is None and given["measurements"] is None:
        raise TunerError(
            "nothing to judge by: pass --measurements FILE (recorded latencies), --model FILE.onnx (whose "
            "measurements are in the store), or --rule NAME for an unmeasured profile"
        )
    check_writable(given["out"])
    if given["report"] is not None:
        check_writable(given["report"])
    if given["to"] is not None:
        export_options.check_export(given)
    if batching_settings(given) is not None:
        from tuner.replay import compiled  # noqa: F401  # fails here, not after hours, where numba is absent


def deliver(found: Recommendation, given: dict[str, Any]) -> None:
    """Write the document, and whatever else was asked for; show it to a person."""
    from tuner.recommendation.document import as_document, document_text, write_document

    document = as_document(found)
    write_document(given["out"], document)
    if given["report"] is not None:
        from tuner.commands.report import format_of, write_report

        write_report(document, given["store"], given["report"], format_of(None, given["report"]))
    if given["as_json"]:
        print(document_text(document), end="")
    elif not given["quiet"]:
        _show(found, given)
    if given["to"] is not None:
        export_options.write_export({**given, "document": given["out"]})


def _show(found: Recommendation, given: dict[str, Any]) -> None:
    from tuner.commands.console import results
    from tuner.report.batching_view import batching_view
    from tuner.report.explained import explanation_view
    from tuner.report.terminal import recommendation_view

    results().print(recommendation_view(found))
    if found.batching is not None:
        results().print(batching_view(found.batching))
    if given["explain"]:
        results().print(explanation_view(found))
    print(f"written: {given['out']}")
