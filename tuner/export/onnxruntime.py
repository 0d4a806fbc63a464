"""Writes profiles as options of ONNX Runtime's TensorRT execution provider.

Facts, from its source: entries are cut at commas and a name ends at the first colon, so that `a:b:1x2` is
silently read as input `a`. Several profiles are built from repeated names, but released versions run
profile 0 only (microsoft/onnxruntime#31624 is open), so the best single profile is exported. Every dynamic
input has to be in all three texts. A shape tensor is given its values.
"""

from __future__ import annotations

import json

from tuner.errors import TunerError
from tuner.export.export_set import NO_RANGES, ExportSet, alternative, best_single, bound_of, has_ranges
from tuner.export.exported import Exported, ExportOptions
from tuner.recommendation.profile_document import ProfileDocument

PROFILE_ZERO = (
    "ONNX Runtime's TensorRT provider runs profile 0 only, and a size outside of it makes it build the "
    "engine again: cover every size or refuse the others before"
)


def onnxruntime_json(document: ProfileDocument, options: ExportOptions) -> Exported:
    """The provider options as a JSON object."""
    found = _single(document, options)
    text = json.dumps(provider_options(found), indent=2, ensure_ascii=False)
    return Exported(text + "\n", _notes(found))


def onnxruntime_python(document: ProfileDocument, options: ExportOptions) -> Exported:
    """Python source with the list of providers for `onnxruntime.InferenceSession`."""
    found = _single(document, options)
    entries = "".join(f"    {key!r}: {value!r},\n" for key, value in provider_options(found).items())
    return Exported(_SOURCE.replace("OPTIONS\n", entries), _notes(found))


def _notes(found: ExportSet) -> tuple[str, ...]:
    return (*found.notes, PROFILE_ZERO if has_ranges(found) else NO_RANGES)


def _single(document: ProfileDocument, options: ExportOptions) -> ExportSet:
    if options.alternative is None:
        return best_single(document)
    found = alternative(document, options.alternative)
    if len(found) > 1:
        raise TunerError(
            f"{document.source}: the best set under {options.alternative} has {len(found)} profiles; ONNX "
            "Runtime runs profile 0 only, so leave --alternative out"
        )
    return found


def provider_options(found: ExportSet) -> dict[str, str]:
    (tensors,) = found.tensors
    if not tensors:
        return {}
    refused = [name for name in tensors if not name or ":" in name or "," in name]
    if refused:
        raise TunerError(
            f"ONNX Runtime cannot be given the inputs {', '.join(refused)}: it ends a name at the first ':' "
            "and an entry at ','; rename them in the model (they would be silently misread)"
        )
    return {
        f"trt_profile_{bound}_shapes": ",".join(
            f"{name}:{'x'.join(map(str, shape))}" for name, shape in bound_of(tensors, bound).items()
        )
        for bound in ("min", "opt", "max")
    }


_SOURCE = '''\
"""Providers for onnxruntime.InferenceSession: the TensorRT provider with an explicit profile."""

tensorrt_options = {
OPTIONS
}

providers = [
    ("TensorrtExecutionProvider", tensorrt_options),
    "CUDAExecutionProvider",
    "CPUExecutionProvider",
]
'''
