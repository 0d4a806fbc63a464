"""`tuner recommend --batcher` on recorded measurements and single requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.commands.running import ENCODER, Ran, Shell, assert_one_line
from tuner.measurements.flat_parquet import import_flat
from tuner.measurements.measuring import SwitchCosts
from tuner.measurements.runner import ContextsTiming
from tuner.measurements.sharing import add_contexts
from tuner.measurements.store import open_store
from tuner.recommendation.document import schema

LENGTHS, SHARES = [16, 32, 64, 128, 512], [0.1, 0.4, 0.3, 0.15, 0.05]


def requests_log(
    shell: Shell, *, rate_rps: float = 1500, count: int = 2500, latency_ms: float | None = None
) -> Path:
    random = np.random.default_rng(4)
    times = 1_700_000_000 + np.cumsum(random.exponential(1 / rate_rps, count))
    rows = [
        {"at": float(at), "tokens": int(seq)} | ({} if latency_ms is None else {"latency_ms": latency_ms})
        for at, seq in zip(times, random.choice(LENGTHS, count, p=SHARES), strict=True)
    ]
    file = shell.folder / "requests.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return file


def recommend(shell: Shell, log: Path, *more: str) -> Ran:
    axes = ("--axis", "batch=1", "--axis", "seq=tokens", "--time", "at", "--log-kind", "requests")
    return shell.tuner(
        "recommend", "--logs", log, "--measurements", ENCODER, *axes, "--batcher-trials", "8", *more
    )


def document(shell: Shell) -> dict[str, Any]:
    return dict(json.loads((shell.folder / "profile.json").read_text()))


def test_profiles_and_batcher_are_tuned_together_and_the_same_again(shell: Shell) -> None:
    log = requests_log(shell)
    more = (
        "--batcher",
        "triton",
        "--unlike-shapes",
        "pad",
        "--slo",
        "response_p99<=10ms",
        "--objective",
        "capacity",
    )
    assert recommend(shell, log, *more).exit_code == 0
    first = (shell.folder / "profile.json").read_bytes()
    found = json.loads(first)
    jsonschema.validate(found, schema())
    batching = found["batching"]
    assert [server["name"] for server in batching["servers"]][:3] == [
        "no batching",
        "rule max, Triton's defaults",
        "tuned profiles, Triton's defaults",
    ]
    assert batching["limit"] == "response_p99<=10ms"
    assert batching["fixed_point"]["outcome"] == "converged"
    rates = [server["capacity"]["rate_rps"] for server in batching["servers"]]
    assert max(rates[2:]) > rates[0] > 0
    assert batching["capacity"]["rate_rps"] >= 0.99 * max(rates[2:])
    low, high = batching["capacity"]["interval_rps"]
    assert low <= batching["capacity"]["rate_rps"] <= high
    assert found["routing"]["policy"] == ("nearest_opt" if batching["deployment"] == "one_model" else "best")
    assert recommend(shell, log, *more).exit_code == 0
    assert (shell.folder / "profile.json").read_bytes() == first


def test_the_traffic_of_the_document_is_what_the_batcher_executes(shell: Shell) -> None:
    recommend(shell, requests_log(shell), "--batcher", "triton", "--unlike-shapes", "pad", "--load", "1.5")
    found = document(shell)
    assert found["traffic"]["requests"] == 2500
    batches = [row[0] for row in found["traffic"]["histogram"]["sizes"]]
    assert max(batches) > 1
    assert any("sizes are those that the batcher executes" in note for note in found["traffic"]["notes"])


def test_the_table_shows_the_servers(shell: Shell) -> None:
    ran = recommend(shell, requests_log(shell), "--batcher", "triton")
    for text in ("no batching", "tuned together", "batchers tried for response_p99", "calibration:"):
        assert text in ran.out


def test_without_batching_each_request_is_an_execution(shell: Shell) -> None:
    assert recommend(shell, requests_log(shell), "--batcher", "fifo").exit_code == 0
    found = document(shell)
    assert found["batching"]["batcher"] == "fifo"
    assert found["batching"]["replay"]["mean_batch"] == 1
    assert found["routing"]["policy"] == "best"


def test_a_load_that_no_server_carries_has_no_response_times(shell: Shell) -> None:
    log = requests_log(shell, rate_rps=20_000)
    assert recommend(shell, log, "--batcher", "fifo").exit_code == 0
    found = document(shell)
    assert found["batching"]["replay"]["overloaded"] is True
    assert found["batching"]["replay"]["response_p99_ms"] is None
    assert "overloaded" in [caveat["kind"] for caveat in found["caveats"]]


def test_unmeasured_contexts_are_a_caveat_and_measured_ones_are_not(shell: Shell) -> None:
    log = requests_log(shell)
    recommend(shell, log, "--batcher", "fifo", "--contexts", "2")
    assert "contexts_not_measured" in [caveat["kind"] for caveat in document(shell)["caveats"]]
    recommend(shell, log, "--batcher", "fifo", "--contexts", "2", "--concurrency", "1,1.3")
    assert "contexts_not_measured" not in [caveat["kind"] for caveat in document(shell)["caveats"]]


def test_contexts_that_the_store_has_timed_need_no_option(shell: Shell) -> None:
    log = requests_log(shell, count=300)
    recommend(shell, log, "--batcher", "fifo", "--contexts", "2")
    with open_store(f"sqlite:///{shell.folder}/tuner.db") as store:
        built = store.engines()[0]
        both = [
            ContextsTiming(contexts=n, p50_ms=1, p99_ms=1, inferences_per_s=rate)
            for n, rate in ((1, 100), (2, 150))
        ]
        add_contexts(store, built, built.spec.profiles.profiles[0].opt, both)
    recommend(shell, log, "--batcher", "fifo", "--contexts", "2")
    found = document(shell)
    assert "contexts_not_measured" not in [caveat["kind"] for caveat in found["caveats"]]
    assert found["batching"]["concurrency"] == [1.0, 1.5]
    recommend(shell, log, "--batcher", "fifo", "--contexts", "2", "--concurrency", "1,1.3")
    assert document(shell)["batching"]["concurrency"] == [1.0, 1.3]
    assert document(shell)["batching"]["concurrency"] == [1.0, 1.3]


def test_no_batcher_leaves_the_section_empty(shell: Shell) -> None:
    recommend(shell, requests_log(shell))
    assert document(shell)["batching"] is None


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--batcher", "dynamic"), 2, "--batcher is 'dynamic'; accepted are none, fifo, triton"),
        (("--batcher", "triton", "--unlike-shapes", "crop"), 2, "accepted are separate, pad, ragged"),
        (("--batcher", "triton", "--objective", "capacity"), 1, "--slo 'response_p99<=20ms'"),
        (("--objective", "response_p99"), 2, "add --batcher triton or fifo"),
        (("--slo", "response_p99<=5ms"), 2, "add --batcher triton or fifo"),
        (("--batcher", "fifo", "--concurrency", "1,fast"), 2, "--concurrency 1,1.3,1.4"),
        (("--batcher", "fifo", "--concurrency", "2,3"), 1, "one execution alone has the rate 1"),
        (("--batcher", "fifo", "--load", "0"), 1, "a factor above zero is accepted"),
        (("--batcher", "fifo", "--latency", "took"), 1, "there is no such column"),
        (
            ("--batcher", "triton", "--slo", "response_p99<=5ms", "--slo", "response_p50<=1ms"),
            2,
            "one such limit is accepted",
        ),
    ],
)
def test_what_does_not_make_sense_is_one_line(
    shell: Shell, more: tuple[str, ...], code: int, words: str
) -> None:
    ran = recommend(shell, requests_log(shell, count=300), *more)
    assert_one_line(ran, words, exit_code=code)


def test_the_logs_response_times_are_compared_with_the_replay_of_the_deployed_set(shell: Shell) -> None:
    log = requests_log(shell, rate_rps=300, latency_ms=40.0)
    assert recommend(shell, log, "--batcher", "fifo").exit_code == 0
    assert document(shell)["batching"]["calibration"] is None  # nothing is deployed yet
    (shell.folder / "profile.json").rename(shell.folder / "deployed.json")
    ran = recommend(shell, log, "--batcher", "fifo", "--deployed", str(shell.folder / "deployed.json"))
    assert "calibration in ms: P50 40 logged" in ran.out
    found = document(shell)
    assert found["batching"]["calibration"][0]["observed_ms"] == 40.0
    kinds = [caveat["kind"] for caveat in found["caveats"]]
    assert "calibration" in kinds  # the engine answers in under a millisecond
    assert "deployed_not_weighed" in kinds


def test_replay_tells_what_clients_of_a_documents_set_see(shell: Shell) -> None:
    log = requests_log(shell)
    assert recommend(shell, log, "--batcher", "triton", "--unlike-shapes", "pad").exit_code == 0
    axes = ("--axis", "batch=1", "--axis", "seq=tokens", "--time", "at", "--log-kind", "requests")
    more = ("--batcher", "triton", "--unlike-shapes", "pad", "--slo", "response_p99<=10ms", "--json")
    asked = ("replay", "--profile", "profile.json", "--logs", log, "--measurements", ENCODER, *axes, *more)
    ran = shell.tuner(*asked)
    assert ran.exit_code == 0, ran.err
    found, written = json.loads(ran.out), document(shell)["batcher"]
    assert found["max_batch_size"] == written["max_batch"]
    assert found["max_queue_delay_microseconds"] == written["max_queue_delay_microseconds"]
    assert found["replay"]["requests"] == 2500
    assert found["capacity"]["rate_rps"] > 1500
    slower = json.loads(shell.tuner(*asked, "--load", "3").out)
    assert slower["replay"]["busy_share"] > found["replay"]["busy_share"]


def store_with_costs(shell: Shell, size_ms: float, profile_ms: float) -> str:
    """The recorded encoder in a store whose engines know what changes cost."""
    url = f"sqlite:///{shell.folder}/costs.db"
    with open_store(url) as store:
        import_flat(store, str(ENCODER))
        for built in store.engines():
            costs = SwitchCosts(size_ms=size_ms, profile_ms=profile_ms)
            store.add_switch_costs(built.spec.key, built.repeat, costs)
    return url


def test_every_command_that_plays_queues_charges_what_changes_cost(shell: Shell) -> None:
    log, url = requests_log(shell, rate_rps=300), store_with_costs(shell, 0.25, 0.5)
    axes = ("--axis", "batch=1", "--axis", "seq=tokens", "--time", "at", "--log-kind", "requests")
    assert recommend(shell, log, "--batcher", "fifo", "--profiles", "2").exit_code == 0
    free = document(shell)
    assert "changes" not in free["batching"]["replay"]
    asked = ("--logs", log, *axes, "--batcher", "fifo")
    ran = shell.tuner("recommend", *asked, "--measurements", url, "--profiles", "2")
    assert ran.exit_code == 0, ran.err
    assert "charged by order on each context: 0.25 ms after another size (" in ran.out
    found = document(shell)
    jsonschema.validate(found, schema())
    changes = found["batching"]["replay"]["changes"]
    assert (changes["size_ms"], changes["profile_ms"]) == (0.25, 0.5)
    assert 0 < changes["size_share"] < 1
    assert found["batching"]["replay"]["busy_share"] > free["batching"]["replay"]["busy_share"]
    assert all("changes" in server["replay"] for server in found["batching"]["servers"])
    replayed = ("replay", "--profile", "profile.json", *asked, "--store", url)
    again = json.loads(shell.tuner(*replayed, "--json").out)["replay"]["changes"]
    # Sizes drawn anew each time: alike after alike with the sum of their squared shares.
    alike = sum(share**2 for share in SHARES)
    assert again["size_share"] + again["profile_share"] == pytest.approx(1 - alike, abs=0.04)
    assert "0.5 ms after another profile" in shell.tuner(*replayed).out


def test_the_triton_export_carries_batcher_and_instances(shell: Shell) -> None:
    log = requests_log(shell)
    assert (
        recommend(shell, log, "--batcher", "triton", "--contexts", "2", "--concurrency", "1,1.4").exit_code
        == 0
    )
    written = document(shell)["batcher"]
    assert written["instance_count"] == 2
    ran = shell.tuner("export", "profile.json", "--to", "triton", "--for-version", "10.3")
    assert ran.exit_code == 0, ran.err
    assert "count: 2" in ran.out
    assert f"max_batch_size: {written['max_batch']}" in ran.out
    assert f"max_queue_delay_microseconds: {written['max_queue_delay_microseconds']}" in ran.out
