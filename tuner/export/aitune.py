"""Writes profiles as Python source for AITune.

Facts, from the package's own text: its `TensorRTProfile` addresses an input by the name of a parameter of
`forward`, or by a path rooted at one, such as `("args", 0)`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tuner.errors import UsageError
from tuner.export.export_set import asked_set, bound_of
from tuner.export.exported import Exported, ExportOptions
from tuner.recommendation.profile_document import ProfileDocument

_BOUNDS = ("min", "opt", "max")


def aitune(document: ProfileDocument, options: ExportOptions) -> Exported:
    """Source with the list `profiles` for AITune's `TensorRTBackendConfig`."""
    found = asked_set(document, options)
    for name in options.names:
        if name not in found.tensors[0]:
            raise UsageError(
                f"--map names the input '{name}'; those with a range are {list(found.tensors[0])}"
            )
    profiles = []
    for tensors in found.tensors:
        shapes = {bound: bound_of(tensors, bound) for bound in _BOUNDS}
        adds = (
            f"    .add_input_shape({_path(name, options.names)!r}, "
            + ", ".join(f"{bound}_shape={shapes[bound][name]!r}" for bound in _BOUNDS)
            + ")\n"
            for name in tensors
        )
        profiles.append("    TensorRTProfile()\n" + "".join(adds).rstrip("\n") + ",\n")
    return Exported(_AITUNE_SOURCE.replace("PROFILES\n", "".join(profiles)), found.notes)


def _path(name: str, names: Mapping[str, str]) -> str | tuple[str | int, ...]:
    """Where `forward` takes the input: `args.0` is the path ("args", 0); without a mapping, its own name."""
    if name not in names:
        return name
    root, *rest = names[name].split(".")
    if not all((root, *rest)):
        raise UsageError(f"--map {name}={names[name]} cannot be read; write it like --map {name}=args.0")
    parts = [int(part) if part.isascii() and part.isdigit() else part for part in rest]
    return (root, *parts) if parts else root


_AITUNE_SOURCE = '''\
"""Profiles for AITune: TensorRTBackendConfig(profiles=profiles)."""

from aitune.torch.backend import TensorRTProfile

profiles = [
PROFILES
]
'''
