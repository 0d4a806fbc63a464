"""A model for each profile in Triton: a configuration each, and the routing that clients read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.export.consumer_parsers import triton_config
from tests.export.written_documents import as_json, encoder, one
from tuner.errors import TunerError, UsageError
from tuner.export.exported import Exported, ExportOptions
from tuner.export.triton import triton
from tuner.recommendation.json_place import Place
from tuner.recommendation.profile_document import ProfileDocument
from tuner.recommendation.reading_document import document_at

SHORT, LONG = one((1, 16), (32, 64), (32, 128)), one((1, 16), (8, 512), (8, 512))
ROUTED = ((16, 0), (64, 0), (128, 1), (512, 1))
BATCHER = {
    "max_batch": 24,
    "preferred_batch_size": [4, 8, 16],
    "max_queue_delay_microseconds": 300,
    "unlike_shapes": "separate",
    "instance_count": 2,
}


def written(*routed: tuple[int, int], **facts: Any) -> dict[str, Any]:
    routing = [{"size": {"batch": 1, "seq": seq}, "profile": profile} for seq, profile in routed]
    plain = as_json(encoder(), (SHORT, LONG), batcher=BATCHER, **facts)
    return {**plain, "batching": {"client_routing": routing}}


def document(*routed: tuple[int, int], **facts: Any) -> ProfileDocument:
    return document_at(Place(written(*(routed or ROUTED), **facts), "profile.json"))


def export(found: ProfileDocument, **options: Any) -> Exported:
    return triton(found, ExportOptions(**options))


def configs(exported: Exported) -> list[Any]:
    return [triton_config(text) for path, text in exported.files.items() if path.endswith(".pbtxt")]


def test_each_profile_has_a_configuration_with_its_own_batches() -> None:
    short, long = configs(export(document()))
    assert (short.name, long.name) == ("encoder_0", "encoder_1")
    assert (short.max_batch_size, long.max_batch_size) == (24, 8)
    assert list(short.dynamic_batching.preferred_batch_size) == [4, 8, 16]
    assert list(long.dynamic_batching.preferred_batch_size) == [4, 8]
    for found in (short, long):
        assert found.dynamic_batching.max_queue_delay_microseconds == 300
        assert (found.backend, found.instance_group[0].count) == ("tensorrt", 2)
        assert list(found.instance_group[0].profile) == ["0"]
        assert [tensor.name for tensor in found.input] == ["input_ids", "attention_mask"]


def test_the_files_lie_as_a_model_repository() -> None:
    files = export(document()).files
    assert list(files) == ["encoder_0/config.pbtxt", "encoder_1/config.pbtxt", "client_routing.json"]


def test_each_fragment_says_how_its_engine_is_built() -> None:
    _, long, _ = export(document()).files.values()
    assert (
        "# engine: trtexec --minShapes=input_ids:1x16,attention_mask:1x16 --optShapes=input_ids:8x512" in long
    )
    assert "32x128" not in long


def test_the_printed_text_is_the_files_behind_comments_that_name_them() -> None:
    exported = export(document())
    first, second, routing = exported.files.values()
    assert exported.text.startswith(
        f"# encoder_0/config.pbtxt\n{first}\n# encoder_1/config.pbtxt\n{second}\n"
    )
    _, _, tail = exported.text.partition("# client_routing.json\n")
    assert "".join(line.removeprefix("# ") for line in tail.splitlines(keepends=True)) == routing


def test_the_routing_gives_each_listed_size_its_model() -> None:
    routing = json.loads(export(document()).files["client_routing.json"])
    assert routing["axes"] == ["batch", "seq"]
    assert routing["sizes"] == [{"size": [1, seq], "model": f"encoder_{i}"} for seq, i in ROUTED]
    assert routing["models"] == [
        {"name": "encoder_0", "profile": 0, "min": [1, 16], "opt": [32, 64], "max": [32, 128]},
        {"name": "encoder_1", "profile": 1, "min": [1, 16], "opt": [8, 512], "max": [8, 512]},
    ]
    assert {model.name for model in configs(export(document()))} == {m["name"] for m in routing["models"]}


def test_a_batch_that_was_asked_for_is_cut_to_each_profile() -> None:
    asked = configs(export(document(), max_batch_size=16, queue_delay_us=5))
    assert [found.max_batch_size for found in asked] == [16, 8]
    assert [found.dynamic_batching.max_queue_delay_microseconds for found in asked] == [5, 5]
    with pytest.raises(TunerError, match=r"--max-batch-size 33 is more than 32"):
        export(document(), max_batch_size=33)


def test_a_routing_of_the_document_is_no_matter_with_a_model_each() -> None:
    assert len(configs(export(document(policy="first_fit")))) == 2


def test_one_profile_that_was_asked_for_is_one_model() -> None:
    alternatives = {"profile_zero": (LONG,), "nearest_opt": (SHORT, LONG)}
    single = export(document(alternatives=alternatives), best_single=True)
    assert list(single.files) == ["encoder/config.pbtxt"]
    other = export(document(alternatives=alternatives), alternative="nearest_opt")
    assert list(configs(other)[0].instance_group[0].profile) == ["0", "1"]


def test_merging_into_the_file_of_one_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"has a model for each profile.*--to-file FOLDER/"):
        export(document(), existing="")


def test_a_name_that_is_no_folder_is_made_one() -> None:
    found = document()
    named = replace(found, model=replace(encoder(), name="a/b: c"))
    assert [config.name for config in configs(export(named))] == ["a_b_c_0", "a_b_c_1"]


def test_a_route_to_a_profile_that_is_not_there_is_named() -> None:
    with pytest.raises(
        TunerError, match=r"batching.client_routing\[0\].profile is 2; the profiles are 0 to 1"
    ):
        document((16, 2))


def test_a_document_without_client_routing_is_one_model() -> None:
    plain = document_at(Place({**written(), "batching": {"client_routing": None}}, "profile.json"))
    assert list(export(replace(plain, policy="nearest_opt")).files) == ["encoder/config.pbtxt"]
