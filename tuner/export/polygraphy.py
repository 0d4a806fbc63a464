"""Writes profiles for Polygraphy: as arguments of its command line, or as a script for --trt-config-script.

Facts, from the polygraphy package: `--trt-min-shapes` and its like are given once for each profile, an
entry is cut at its last colon, and a profile's names are patterns (`fnmatch`), so that `[`, `*` and `?` in
a name are escaped. A shape tensor is given its values.
"""

from __future__ import annotations

import glob
import json
import shlex
from collections.abc import Iterator

from tuner.errors import TunerError
from tuner.export.export_set import NO_RANGES, asked_set, bound_of, has_ranges
from tuner.export.exported import Exported, ExportOptions
from tuner.recommendation.profile_document import ProfileDocument, TensorRanges

_BOUNDS = ("min", "opt", "max")


def polygraphy_arguments(document: ProfileDocument, options: ExportOptions) -> Exported:
    """One shell line of arguments, or with `as_json` the argument vector as a JSON list."""
    found = asked_set(document, options)
    ranged = has_ranges(found)
    vector = [argument for tensors in found.tensors for argument in _arguments(tensors)] if ranged else []
    text = json.dumps(vector, ensure_ascii=False) if options.as_json else shlex.join(vector)
    return Exported(text + "\n", found.notes if ranged else (*found.notes, NO_RANGES))


def _arguments(tensors: TensorRanges) -> Iterator[str]:
    for bound in _BOUNDS:
        yield f"--trt-{bound}-shapes"
        for name, shape in bound_of(tensors, bound).items():
            if name.startswith("-"):
                raise TunerError(
                    f"Polygraphy's command line takes the input {name!r} for an option; export with "
                    "--to polygraphy-script"
                )
            yield f"{glob.escape(name)}:[{','.join(map(str, shape))}]"


def polygraphy_script(document: ProfileDocument, options: ExportOptions) -> Exported:
    """A Python file whose `load_config(builder, network)` gives a configuration with the profiles."""
    found = asked_set(document, options)
    profiles = "".join(f"    Profile()\n{_adds(tensors)},\n" for tensors in found.tensors)
    return Exported(_SCRIPT.replace("PROFILES\n", profiles), found.notes)


def _adds(tensors: TensorRanges) -> str:
    shapes = {bound: bound_of(tensors, bound) for bound in _BOUNDS}
    return "\n".join(
        f"    .add({glob.escape(name)!r}, "
        + ", ".join(f"{bound}={shapes[bound][name]!r}" for bound in _BOUNDS)
        + ")"
        for name in tensors
    )


_SCRIPT = '''\
"""Optimization profiles for Polygraphy: polygraphy convert MODEL --trt-config-script THIS_FILE."""

from polygraphy.backend.trt import CreateConfig, Profile

profiles = [
PROFILES
]


def load_config(builder, network):
    return CreateConfig(profiles=profiles)(builder, network)
'''
