"""`tuner export --to triton` of a tuned server with a model for each profile, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.running import Shell, assert_one_line
from tests.commands.test_recommend_batched import document, recommend, requests_log
from tests.export.consumer_parsers import triton_config
from tests.export.written_documents import THREE, as_json, encoder, write

TUNED = ("--batcher", "triton", "--unlike-shapes", "pad", "--slo", "response_p99<=10ms")


def test_the_better_server_with_a_model_for_each_profile_is_exported(shell: Shell) -> None:
    log = requests_log(shell)
    assert recommend(shell, log, *TUNED, "--objective", "capacity").exit_code == 0
    found = document(shell)
    assert found["batching"]["deployment"] == "model_per_profile"
    assert not [caveat for caveat in found["caveats"] if caveat["kind"] == "model_per_profile"]
    ran = shell.tuner("export", "profile.json", "--to", "triton", "--to-file", "served/")
    assert (ran.exit_code, ran.out) == (0, ""), ran.err
    assert "build an engine for each" in ran.err
    routing = json.loads((shell.folder / "served" / "client_routing.json").read_text())
    for profile, model in zip(found["profiles"], routing["models"], strict=True):
        config = triton_config((shell.folder / "served" / model["name"] / "config.pbtxt").read_text())
        largest = min(found["batcher"]["max_batch"], profile["max"]["batch"])
        assert (config.name, config.max_batch_size) == (model["name"], largest)
        delay = found["batcher"]["max_queue_delay_microseconds"]
        assert config.dynamic_batching.max_queue_delay_microseconds == delay
        preferred = [size for size in found["batcher"]["preferred_batch_size"] if size <= largest]
        assert list(config.dynamic_batching.preferred_batch_size) == preferred
    sent = [
        (tuple(entry["size"].values()), entry["profile"]) for entry in found["batching"]["client_routing"]
    ]
    models = [model["name"] for model in routing["models"]]
    assert [(tuple(e["size"]), models.index(e["model"])) for e in routing["sizes"]] == sent
    assert len({index for _, index in sent}) > 1


def one_model(shell: Shell) -> Path:
    return write(shell.folder / "profile.json", as_json(encoder(), THREE, policy="nearest_opt"))


def test_one_model_is_written_into_its_own_folder(shell: Shell) -> None:
    printed = shell.tuner("export", one_model(shell), "--to", "triton")
    ran = shell.tuner("export", "profile.json", "--to", "triton", "--to-file", "served/")
    assert (ran.exit_code, ran.out) == (0, ""), ran.err
    assert (shell.folder / "served" / "encoder" / "config.pbtxt").read_text() == printed.out


@pytest.mark.parametrize(
    ("more", "words", "exit_code"),
    [
        (("--to", "csv", "--to-file", "served/"), ("--to csv writes one file",), 2),
        (("--to", "triton", "--into", "c", "--to-file", "served/"), ("--into writes one file",), 2),
        (("--to", "triton", "--to-file", "profile.json/"), ("it is a file; name a folder",), 1),
        (("--to", "triton", "--to-file", "none/served/"), ("does not exist; create it first",), 1),
    ],
)
def test_a_folder_that_cannot_be_is_one_line(
    shell: Shell, more: tuple[str, ...], words: tuple[str, ...], exit_code: int
) -> None:
    one_model(shell)
    assert_one_line(shell.tuner("export", "profile.json", *more), *words, exit_code=exit_code)
    assert shell.files == {"profile.json"}
