"""Writes profiles as flags of trtexec.

Facts, from `samples/common/sampleOptions.cpp` of TensorRT: a list of shapes is cut at every comma, a name
ends at the last colon before its shape, and every single quote in a name is dropped; from release 10 on a
star in a name is a wildcard. So a name with a colon is carried within single quotes, and one with a quote,
a comma or (from 10) a star cannot be carried. From release 10 on, `--profile=N` takes the three flags that
stand directly behind it; before, there is one profile. A shape tensor is given its values.
"""

from __future__ import annotations

import json
import re
import shlex

from tuner.errors import TunerError
from tuner.export.export_set import NO_RANGES, ExportSet, asked_set, bound_of, has_ranges
from tuner.export.exported import Exported, ExportOptions, tensorrt_version
from tuner.recommendation.profile_document import ProfileDocument, TensorRanges

FIRST_WITH_PROFILES = (10, 0)
_PLAIN_NAME = re.compile(r"[\w.\-]+", re.ASCII)


def trtexec(document: ProfileDocument, options: ExportOptions) -> Exported:
    """One shell line of flags, or with `as_json` the argument vector as a JSON list."""
    version = tensorrt_version(document, options)
    found = asked_set(document, options)
    notes = list(found.notes)
    is_old = version is not None and version < FIRST_WITH_PROFILES
    if len(found) > 1 and is_old:
        raise TunerError(
            f"{document.source}: has {len(found)} profiles, but trtexec before TensorRT 10.0 knows one only; "
            "export the best one with --best-single, build with tuner build, or use trtexec 10.0 or later "
            "(--for-version 10.0)"
        )
    if len(found) > 1 and version is None:
        notes.append("several profiles need trtexec of TensorRT 10.0 or later; say which with --for-version")
    if not has_ranges(found):
        notes.append(NO_RANGES)
    vector = arguments(found, stars=is_old) if has_ranges(found) else []
    text = json.dumps(vector, ensure_ascii=False) if options.as_json else shlex.join(vector)
    return Exported(text + "\n", tuple(notes))


def arguments(found: ExportSet, *, stars: bool = False) -> list[str]:
    """The argument vector; `stars` where a star in a name is just a star."""
    vector = []
    for index, tensors in enumerate(found.tensors):
        if len(found) > 1:
            vector.append(f"--profile={index}")
        vector += [f"--{bound}Shapes={_shapes(tensors, bound, stars)}" for bound in ("min", "opt", "max")]
    return vector


def _shapes(tensors: TensorRanges, bound: str, stars: bool) -> str:
    shapes = bound_of(tensors, bound)
    return ",".join(f"{_quoted(n, stars)}:{'x'.join(map(str, s)) or 'scalar'}" for n, s in shapes.items())


def _quoted(name: str, stars: bool) -> str:
    broken = [sign for sign in ("'", ",", *(() if stars else ("*",))) if sign in name]
    if broken:
        raise TunerError(
            f"trtexec cannot be given the input {name!r}: it takes {' and '.join(broken)} in a name for "
            "something else; rename the input, or build with tuner build or Polygraphy"
        )
    return name if _PLAIN_NAME.fullmatch(name) else f"'{name}'"
