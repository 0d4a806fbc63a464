"""Triton's configuration: batch and dims, data types, profiles, routing, and merging into a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.export.consumer_parsers import triton_config
from tests.export.written_documents import THREE, document_of, encoder, one
from tuner.axes import Size
from tuner.errors import TunerError, UsageError
from tuner.export.exported import Exported, ExportOptions
from tuner.export.triton import triton
from tuner.formula import axis_dimension
from tuner.model import Model, OutputSpec, TensorSpec
from tuner.recommendation.profile_document import ProfileDocument

N = axis_dimension("n")
IMAGE = Model(
    "image", (TensorSpec("x", "float32", (N, 3, 64, 64)),), (OutputSpec("y", "float32", ("n", 10)),)
)


def batches(*bounds: tuple[int, int, int]) -> list[Any]:
    return [one((low,), (opt,), (high,), ("n",)) for low, opt, high in bounds]


def export(document: ProfileDocument, **options: Any) -> Exported:
    return triton(document, ExportOptions(**options))


def config(document: ProfileDocument, **options: Any) -> Any:
    return triton_config(export(document, **options).text)


def test_the_fragment_is_complete() -> None:
    assert export(document_of(encoder(), THREE, policy="nearest_opt"), queue_delay_us=200).text == (
        "# profile 0 (batch x seq): 1x16..4x32..4x64\n"
        "# profile 1 (batch x seq): 32x128..64x128..64x256\n"
        "# profile 2 (batch x seq): 1x16..64x512..64x512\n"
        'backend: "tensorrt"\n'
        "max_batch_size: 64\n"
        'input {\n  name: "input_ids"\n  data_type: TYPE_INT64\n  dims: [ -1 ]\n}\n'
        'input {\n  name: "attention_mask"\n  data_type: TYPE_INT64\n  dims: [ -1 ]\n}\n'
        'output {\n  name: "hidden"\n  data_type: TYPE_FP32\n  dims: [ -1, 768 ]\n}\n'
        'instance_group {\n  count: 1\n  kind: KIND_GPU\n  profile: [ "0", "1", "2" ]\n}\n'
        "dynamic_batching {\n  preferred_batch_size: [ 4, 64 ]\n  max_queue_delay_microseconds: 200\n}\n"
    )


def test_the_largest_batch_of_all_profiles_is_the_maximum() -> None:
    document = document_of(IMAGE, batches((1, 2, 4), (4, 8, 16)), policy="nearest_opt")
    assert config(document).max_batch_size == 16


def test_a_batch_beyond_the_profiles_is_refused_with_both_numbers() -> None:
    document = document_of(IMAGE, batches((1, 4, 8)))
    with pytest.raises(TunerError, match=r"--max-batch-size 16 is more than 8"):
        export(document, max_batch_size=16)
    smaller = config(document, max_batch_size=4)
    assert (smaller.max_batch_size, list(smaller.dynamic_batching.preferred_batch_size)) == (4, [4])


def test_the_batcher_that_the_set_was_judged_with_is_exported() -> None:
    batcher = {"max_batch": 12, "preferred_batch_size": [12, 3], "max_queue_delay_microseconds": 70}
    document = document_of(IMAGE, batches((1, 4, 16)), batcher={**batcher, "unlike_shapes": "pad"})
    found = config(document)
    assert found.max_batch_size == 12
    assert list(found.dynamic_batching.preferred_batch_size) == [3, 12]
    assert found.dynamic_batching.max_queue_delay_microseconds == 70
    asked = config(document, max_batch_size=8, queue_delay_us=5)
    assert (asked.max_batch_size, list(asked.dynamic_batching.preferred_batch_size)) == (8, [3])
    assert asked.dynamic_batching.max_queue_delay_microseconds == 5


def test_a_model_without_a_common_batch_is_not_batched() -> None:
    model = Model(
        "m",
        (TensorSpec("x", "float32", (N, 4)), TensorSpec("scale", "float32", ())),
        (OutputSpec("y", "float32", ("n", 4)), OutputSpec("count", "float32", ())),
    )
    document = document_of(model, batches((1, 2, 8)))
    found = config(document)
    assert found.max_batch_size == 0
    assert not found.HasField("dynamic_batching")
    x, scale = found.input
    assert (list(x.dims), x.HasField("reshape")) == ([-1, 4], False)
    assert (list(scale.dims), scale.HasField("reshape"), list(scale.reshape.shape)) == ([1], True, [])
    assert found.output[1].HasField("reshape")
    with pytest.raises(UsageError, match="cannot batch it; leave the option out"):
        export(document, max_batch_size=4)


def test_an_output_whose_first_dimension_is_something_else_rules_batching_out() -> None:
    model = Model("m", IMAGE.inputs, (OutputSpec("y", "float32", ("rows", 10)),))
    assert config(document_of(model, batches((1, 2, 8)))).max_batch_size == 0


def test_the_batch_alone_leaves_a_scalar_for_each_request() -> None:
    model = Model("m", (TensorSpec("x", "float32", (N,)),), (OutputSpec("y", "float32", ("n",)),))
    found = config(document_of(model, batches((1, 2, 8))))
    assert found.max_batch_size == 8
    assert (list(found.input[0].dims), list(found.input[0].reshape.shape)) == ([1], [])


def test_a_shape_tensor_is_marked() -> None:
    target = TensorSpec("target", "int64", (2,), (axis_dimension("target[0]"), axis_dimension("target[1]")))
    model = Model("m", (TensorSpec("data", "float32", (N, 16)), target))
    profile = one((1, 4, 8), (2, 8, 8), (4, 16, 8), model.axes)
    found = config(document_of(model, [profile]))
    assert (found.input[1].is_shape_tensor, list(found.input[1].dims)) == (True, [2])


@pytest.mark.parametrize(
    ("tensorrt", "flavour", "asked", "expected"),
    [
        ("8.6.1", "tensorrt", None, "TYPE_INT32"),
        ("10.0.1", "tensorrt", None, "TYPE_INT64"),
        ("11.0", "tensorrt", None, "TYPE_INT64"),
        ("1.7.1", "tensorrt_rtx", None, "TYPE_INT64"),
        ("8.6.1", "tensorrt", "10.3", "TYPE_INT64"),
        ("10.3", "tensorrt", "8.6", "TYPE_INT32"),
        (None, "tensorrt", "8.5", "TYPE_INT32"),
    ],
)
def test_int64_has_the_type_that_the_engine_reports(
    tensorrt: str | None, flavour: str, asked: str | None, expected: str
) -> None:
    document = document_of(encoder(), THREE[:1], tensorrt=tensorrt, flavour=flavour)
    assert f"data_type: {expected}" in export(document, version=asked).text


def test_int64_without_a_known_release_is_that_of_release_10_and_said() -> None:
    exported = export(document_of(encoder(), THREE[:1], tensorrt=None))
    assert "data_type: TYPE_INT64" in exported.text
    assert exported.notes[0].startswith("input_ids, attention_mask: int64 as TensorRT 10 and later have it")
    assert export(document_of(encoder(), THREE[:1], tensorrt="10.3")).notes == ()


def test_a_dtype_that_no_engine_has_is_named() -> None:
    model = Model("m", (TensorSpec("x", "float64", (N, 3)),))
    with pytest.raises(TunerError, match="x has the dtype float64"):
        export(document_of(model, batches((1, 2, 3))))


def test_unknown_outputs_are_said() -> None:
    model = Model("m", IMAGE.inputs)
    exported = export(document_of(model, batches((1, 2, 8))))
    assert "output" not in exported.text
    assert any("outputs are not known" in note for note in exported.notes)


SMALL, LARGE = one((1, 1), (64, 64), (64, 512)), one((1, 1), (4, 512), (64, 512))
NEAREST = (one((1, 1), (8, 8), (64, 64)), one((1, 65), (8, 256), (64, 512)))


def test_a_routing_that_triton_shares_keeps_the_chosen_set() -> None:
    # Triton's distance never looks at the last dimension, so it sends both sizes to profile 0.
    table = {Size.of(batch=64, seq=64): 0, Size.of(batch=4, seq=512): 0}
    exported = export(document_of(encoder(), (SMALL, LARGE), table=table))
    assert exported.notes == ()
    assert exported.text.startswith(
        "# profile 0 (batch x seq): 1x1..64x64..64x512\n# profile 1 (batch x seq): 1x1..4x512"
    )


def test_a_routing_that_triton_does_not_do_exports_the_set_for_its_own() -> None:
    table = {Size.of(batch=64, seq=64): 0, Size.of(batch=4, seq=512): 1}
    document = document_of(encoder(), (SMALL, LARGE), table=table, alternatives={"nearest_opt": NEAREST})
    exported = export(document)
    assert exported.text.startswith(
        "# profile 0 (batch x seq): 1x1..8x8..64x64\n# profile 1 (batch x seq): 1x65..8x256"
    )
    assert any("would send 1 of 2 sizes elsewhere" in note for note in exported.notes)
    asked = export(document, alternative="nearest_opt")
    assert (asked.text, asked.notes) == (exported.text, ())


def test_without_a_set_for_tritons_routing_the_reason_is_said() -> None:
    table = {Size.of(batch=64, seq=64): 1}
    with pytest.raises(TunerError, match=r"no alternatives.nearest_opt.*--best-single"):
        export(document_of(encoder(), (SMALL, LARGE), table=table))


EXISTING = """\
# Served by the search team.
name: "ranker"
platform: "tensorrt_plan"   # a plan
max_batch_size: 4
input [
  {
    name: "x"
    data_type: TYPE_FP16
    dims: [ 3, 32, 32 ]  # too small
    optional: true
  },
  { name: "mask", data_type: TYPE_BOOL, dims: [ 1 ], reshape: { shape: [ ] } }
]
output { name: "y" label_filename: "labels.txt" dims: 5 }
instance_group [ { count: 2, kind: KIND_GPU, gpus: [ 0, 1 ], profile: "3" } ]
dynamic_batching {
  preferred_batch_size: 2  # by hand
  preferred_batch_size: 4
  max_queue_delay_microseconds: 500
}
version_policy: { latest { num_versions: 2 } }
parameters { key: "TRT" value: { string_value: "a # no comment" } }
"""


def test_merging_replaces_what_is_ours_and_leaves_everything_else() -> None:
    document = document_of(IMAGE, batches((1, 2, 4), (1, 8, 16)), policy="nearest_opt")
    merged = export(document, existing=EXISTING, existing_name="config.pbtxt")
    found, before = triton_config(merged.text), triton_config(EXISTING)
    assert found.max_batch_size == 16
    assert list(found.input[0].dims) == [3, 64, 64]
    assert "data_type: TYPE_FP32" in str(found.input[0])
    assert list(found.output[0].dims) == [10]
    assert found.output[0].label_filename == "labels.txt"
    assert list(found.instance_group[0].profile) == ["0", "1"]
    assert list(found.dynamic_batching.preferred_batch_size) == [2, 8]
    assert found.dynamic_batching.max_queue_delay_microseconds == 500
    assert "mask" in merged.notes[0]
    for message in (found, before):
        _clear_ours(message)
    assert found == before
    comments = [line.partition("#")[2] for line in EXISTING.splitlines() if "#" in line]
    assert all(comment in merged.text for comment in comments)


def _clear_ours(message: Any) -> None:
    message.ClearField("max_batch_size")
    for tensor in (message.input[0], message.output[0]):
        for name in ("dims", "data_type", "reshape"):
            tensor.ClearField(name)
    for group in message.instance_group:
        group.ClearField("profile")
    message.dynamic_batching.ClearField("preferred_batch_size")


def test_merging_twice_changes_nothing_more() -> None:
    document = document_of(IMAGE, batches((1, 2, 4)))
    once = export(document, existing=EXISTING).text
    assert export(document, existing=once).text == once


def test_merging_into_an_empty_file_gives_the_same_configuration() -> None:
    document = document_of(encoder(), THREE, policy="nearest_opt")
    merged = export(document, existing="")
    assert triton_config(merged.text) == config(document)


def test_another_scheduler_is_kept() -> None:
    merged = export(document_of(IMAGE, batches((1, 2, 4))), existing="sequence_batching { }")
    assert not triton_config(merged.text).HasField("dynamic_batching")
    assert any("sequence_batching" in note for note in merged.notes)


def test_a_batcher_of_a_model_that_cannot_be_batched_is_named() -> None:
    model = Model("m", (TensorSpec("x", "float32", (1, axis_dimension("n"))),))
    merged = export(document_of(model, batches((1, 2, 4))), existing="dynamic_batching { }")
    assert any("cannot be batched" in note for note in merged.notes)


_comments = st.sampled_from(("", "  # a } comment", ' # [ "', "\n# own line\n"))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_comments, min_size=len(EXISTING.splitlines()), max_size=len(EXISTING.splitlines())))
def test_merging_keeps_comments_anywhere(comments: list[str]) -> None:
    text = "\n".join(
        line + (comment if "#" not in line else "")
        for line, comment in zip(EXISTING.splitlines(), comments, strict=True)
    )
    document = document_of(IMAGE, batches((1, 2, 4)))
    merged = export(document, existing=text).text
    assert triton_config(merged) == triton_config(export(document, existing=EXISTING).text)
    assert merged.count("# own line") == text.count("# own line")
