"""Cases C01, C11 and C14: min, opt and max that fit together, and opts where the traffic really is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import TensorProto, helper

from tests.commands.running import Shell, assert_one_line
from tests.strategies import histograms
from tuner.profiles.rules import RULE_NAMES, profiles_by_rule
from tuner.traffic.histogram import SizeHistogram


def model(path: Path, **inputs: list[int | str]) -> Path:
    """A model whose inputs have these dims; what it computes does not matter here."""
    given_inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in inputs.items()]
    outputs = [helper.make_tensor_value_info(f"{n}_out", TensorProto.FLOAT, d) for n, d in inputs.items()]
    nodes = [helper.make_node("Identity", [n], [f"{n}_out"]) for n in inputs]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", given_inputs, outputs)), str(path))
    return path


def log(path: Path, *rows: dict[str, int]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def by_rule(shell: Shell, logs: Path, onnx_file: Path, *more: str) -> dict:
    arguments = ("--logs", str(logs), "--model", str(onnx_file), "--rule", "median")
    ran = shell.tuner("recommend", *arguments, *more)
    assert ran.exit_code == 0, ran.err
    return json.loads((shell.folder / "profile.json").read_text())


def test_an_opt_never_lies_above_its_max(shell: Shell) -> None:
    rows = ({"rows": 1000}, {"rows": 1100}, {"rows": 1200})
    found = by_rule(
        shell, log(shell.folder / "l.jsonl", *rows), model(shell.folder / "m.onnx", x=["rows", 4])
    )
    profile = found["profiles"][0]
    assert [profile[bound]["rows"] for bound in ("min", "opt", "max")] == [1000, 1100, 1200]


@given(histograms(min_size=1))
def test_every_rule_gives_min_below_opt_below_max_on_every_axis(histogram: SizeHistogram) -> None:
    for name in RULE_NAMES:
        for profile in profiles_by_rule(name, histogram, 2):
            bounds = (profile.min.values, profile.opt.values, profile.max.values)
            assert all(low <= opt <= high for low, opt, high in zip(*bounds, strict=True))


def test_an_opt_keeps_what_the_inputs_force_together(shell: Shell) -> None:
    sizes = [(1, 128, 129), (50, 8, 58), (100, 200, 300)]
    rows = [dict(zip(("seq", "past_len", "total"), size, strict=True)) for size in sizes]
    inputs = {"ids": [1, "seq"], "past": [1, "past_len"], "mask": [1, "total"]}
    found = by_rule(shell, log(shell.folder / "l.jsonl", *rows), model(shell.folder / "m.onnx", **inputs))
    profile = found["profiles"][0]
    opt = profile["opt"]
    assert opt["total"] == opt["seq"] + opt["past_len"]
    assert (profile["min"]["total"], profile["max"]["total"]) == (9, 300)


def test_two_kinds_of_traffic_get_a_profile_each_and_the_gap_is_named(shell: Shell) -> None:
    rows = [{"seq_len": n, "count": c} for n, c in ((1, 70), (1900, 10), (2048, 20))]
    logs = log(shell.folder / "l.jsonl", *rows)
    onnx_file = model(shell.folder / "m.onnx", ids=[1, "seq_len"])
    one = by_rule(shell, logs, onnx_file, "--count", "count")
    assert one["profiles"][0]["opt"]["seq_len"] in (1, 1900, 2048)
    two = by_rule(shell, logs, onnx_file, "--count", "count", "--profiles", "2")
    ranges = [(p["min"]["seq_len"], p["max"]["seq_len"]) for p in two["profiles"]]
    assert ranges == [(1, 1), (1900, 2048)]
    gaps = [c["text"] for c in two["caveats"] if c["kind"] == "gap"]
    assert gaps == ["seq_len from 2 to 1899 is covered by no profile"]


def test_more_profiles_than_kinds_of_requests_is_one_line(shell: Shell) -> None:
    logs = log(shell.folder / "l.jsonl", {"n": 1}, {"n": 9})
    arguments = ("--logs", str(logs), "--model", str(model(shell.folder / "m.onnx", x=["n"])))
    ran = shell.tuner("recommend", *arguments, "--rule", "median", "--profiles", "3")
    assert_one_line(ran, "2 distinct sizes, too few for 3 profiles")


@pytest.mark.parametrize("seed", range(3))
def test_with_two_kinds_of_traffic_no_rule_by_rank_puts_opt_between_them(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = np.concatenate([generator.integers(1, 5, 5), generator.integers(1500, 2100, 5)])
    histogram = SizeHistogram(("n",), values[:, None], generator.integers(1, 99, 10))
    for name in ("median", "mode", "p90", "max"):
        opt = profiles_by_rule(name, histogram, 1).profiles[0].opt["n"]
        assert not 5 <= opt < 1500
