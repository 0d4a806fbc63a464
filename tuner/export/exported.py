"""What every exporter takes and gives: a document and options in, text and notes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tuner.errors import UsageError
from tuner.recommendation.profile_document import ProfileDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """What a person may ask of an export; an exporter takes what it needs of it.

    `version` is that of the tool that will read the export, `alternative` the routing policy whose best set
    to export in place of the chosen one. `names` maps an input to the consumer's own name of it.
    `existing` is the text of a file to merge into, `existing_name` what messages call it.
    """

    version: str | None = None
    alternative: str | None = None
    best_single: bool = False
    as_json: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    max_batch_size: int | None = None
    queue_delay_us: int | None = None
    existing: str | None = None
    existing_name: str = "the existing file"


@dataclass(frozen=True, slots=True)
class Exported:
    """The text for the consumer, and what a person has to know about it.

    `files` has the same as files of a folder, by path in it, for a consumer that reads folders.
    """

    text: str
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


Exporter = Callable[[ProfileDocument, ExportOptions], Exported]

Version = tuple[int, int]


def version_of(text: str) -> Version:
    """Major and minor number of `10.3.0.26`; UsageError for what is no version."""
    found = re.match(r"v?(\d+)(?:\.(\d+))?", text.strip())
    if found is None:
        raise UsageError(f"--for-version '{text}' cannot be read; write it like --for-version 10.3")
    return int(found[1]), int(found[2] or 0)


def tensorrt_version(document: ProfileDocument, options: ExportOptions) -> Version | None:
    """The TensorRT that the export is for: as asked, or what the document was measured with.

    TensorRT-RTX counts as release 10, which it was split from; None where nothing tells it.
    """
    if options.version is not None:
        return version_of(options.version)
    if document.flavour == "tensorrt_rtx":
        return (10, 0)
    return version_of(document.tensorrt) if document.tensorrt else None
