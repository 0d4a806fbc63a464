"""The options of an export, shared by `tuner export` and `tuner recommend --to`, and what they lead to."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tuner.commands.options import Json, ModelFile, Quiet, option, pairs
from tuner.errors import TunerError, UsageError

if TYPE_CHECKING:
    from tuner.export.exported import ExportOptions

__all__ = ["Json", "ModelFile", "Quiet"]

_export = partial(option, rich_help_panel="Export")

To = Annotated[
    str | None,
    _export(
        "--to",
        "Format: trtexec, polygraphy, polygraphy-script, onnxruntime, onnxruntime-python, torch-tensorrt, "
        "triton, aitune, csv or markdown.",
        metavar="FORMAT",
    ),
]
ToFile = Annotated[str | None, _export("--to-file", "Where the export goes; default stdout.", metavar="FILE")]
Into = Annotated[
    str | None,
    _export(
        "--into",
        "An existing config.pbtxt to merge into, in place unless --to-file is given.",
        metavar="FILE",
    ),
]
Override = Annotated[
    str | None,
    _export(
        "--override",
        'JSON file of shapes to try in place of the document\'s: {"x": {"opt": [1, 3, 512, 512]}}.',
        metavar="FILE",
    ),
]
ForVersion = Annotated[
    str | None,
    _export(
        "--for-version",
        "Version of the tool that reads the export: of TensorRT, or of Torch-TensorRT.",
        metavar="VERSION",
    ),
]
BestSingle = Annotated[bool, _export("--best-single", "Export the best single profile instead of the set.")]
Alternative = Annotated[
    str | None,
    _export(
        "--alternative",
        "Export the best set under another routing: nearest_opt, profile_zero, first_fit or sticky.",
        metavar="POLICY",
    ),
]
Map = Annotated[
    list[str] | None,
    _export(
        "--map",
        "The consumer's name of an input: input_ids=args.0. Repeatable.",
        metavar="INPUT=NAME",
    ),
]
MaxBatchSize = Annotated[
    int | None, _export("--max-batch-size", "Triton's max_batch_size, if less than the profiles'.", min=1)
]
QueueDelay = Annotated[
    int | None, _export("--max-queue-delay-us", "Triton's max_queue_delay_microseconds.", min=0)
]


def check_export(given: dict[str, Any]) -> None:
    """Refuse, before any work, options that make no sense and files that could not be written."""
    from tuner.export.formats import FORMATS, exporter_named
    from tuner.recommendation.output_file import check_folder, check_writable

    if given["to"] is None:
        raise UsageError(f"--to is missing; accepted are {', '.join(FORMATS)}")
    exporter_named(given["to"])
    if given.get("into") and given["to"] != "triton":
        raise UsageError(f"--into merges into a config.pbtxt; use it with --to triton, not {given['to']}")
    if given.get("best_single") and given.get("alternative"):
        raise UsageError("--best-single and --alternative name two sets; give one of them")
    if given["as_json"] and given.get("out") and given["to_file"] is None:
        raise UsageError("--json prints the document, so the export needs a place: give --to-file FILE")
    if given["to_file"] is None:
        return
    if not _is_folder(given["to_file"]):
        check_writable(given["to_file"])
        return
    if given["to"] != "triton" or given.get("into"):
        other = "--into" if given["to"] == "triton" else f"--to {given['to']}"
        raise UsageError(
            f"--to-file {given['to_file']} is a folder, but {other} writes one file; name a file"
        )
    check_folder(given["to_file"])


def check_if_asked(given: dict[str, Any]) -> None:
    """The same for a command that exports only where --to is given."""
    if given["to"] is not None:
        check_export(given)


def write_if_asked(given: dict[str, Any], document: str) -> None:
    if given["to"] is not None:
        write_export({**given, "document": document})


def write_export(given: dict[str, Any]) -> None:
    """Read the document, export it, and print or write the text; notes go to stderr."""
    from tuner.export.formats import exporter_named
    from tuner.onnx_file import read_onnx
    from tuner.recommendation.checked_document import read_document
    from tuner.recommendation.output_file import replace_file, replace_files

    model = read_onnx(given["model"]) if given["model"] else None
    document = read_document(given["document"], model, given.get("override"))
    exported = exporter_named(given["to"])(document, _options(given))
    target = given["to_file"] or given.get("into")
    if target is None:
        print(exported.text, end="")
    elif _is_folder(target):
        replace_files(target, exported.files)
    else:
        replace_file(target, exported.text)
    if not given["quiet"]:
        for note in exported.notes:
            print(f"note: {note}", file=sys.stderr)


def _is_folder(path: str) -> bool:
    """A folder is asked for by its final slash, whether it is there or not."""
    return path.endswith("/")


def _options(given: dict[str, Any]) -> ExportOptions:
    from tuner.export.exported import ExportOptions

    into = given.get("into")
    return ExportOptions(
        version=given.get("for_version"),
        alternative=given.get("alternative"),
        best_single=given.get("best_single", False),
        as_json=given.get("as_json", False),
        names=pairs("--map", given.get("map_")),
        max_batch_size=given.get("max_batch_size"),
        queue_delay_us=given.get("max_queue_delay_us"),
        existing=_text(into) if into else None,
        existing_name=into or "the existing file",
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TunerError(
            f"{path}: cannot be read ({error}); give an existing config.pbtxt to --into"
        ) from error
