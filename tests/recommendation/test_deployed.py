"""Deployed documents are untrusted: whatever stands in one is read whole, or refused in one line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.errors import TunerError
from tuner.recommendation.deployed import deployed_of, read_deployed
from tuner.recommendation.json_place import parse_json

VALID: dict[str, Any] = {
    "schema_version": 1,
    "decision": "change",
    "reason": "no deployed set",
    "profiles": [
        {
            "index": 0,
            "min": {"batch": 1, "seq": 16},
            "opt": {"batch": 4, "seq": 64},
            "max": {"batch": 64, "seq": 512},
            "tensors": None,
            "requests_share": 1.0,
            "work_share": 1.0,
        }
    ],
    "routing": {"policy": "best", "table": [{"size": {"batch": 4, "seq": 64}, "profile": 0}]},
    "expected": None,
    "alternatives": {"nearest_opt": None},
    "evidence": {"model_hash": "abc", "tensorrt": "8.6.0", "flavour": "tensorrt"},
    "last_search": {
        "axes": ["batch", "seq"],
        "cells": [[4, 64, 10, 10, 2560]],
        "uncovered_share": 0.0,
        "settings": "0123",
        "builds": 3,
        "measurements": 9,
    },
    "recent": {"axes": ["batch", "seq"], "cells": [[4, 64, 10, 10, 2560]]},
    "caveats": [],
}


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value inside of a JSON value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += paths(part, (*path, key))
    return found


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def read(text: str) -> None:
    problem = ""
    try:
        deployed_of(parse_json(text, "profile.json"))
    except TunerError as error:
        problem = str(error)
    assert len(problem.splitlines()) <= 1, problem
    assert len(problem) < 2000


def test_the_valid_one_is_read() -> None:
    found = deployed_of(parse_json(json.dumps(VALID), "profile.json"), ("seq", "batch"))
    assert found.profiles.axes == ("seq", "batch")
    assert found.last_search is not None
    assert found.last_search.cells.rows() == [[4, 64, 10, 10, 2560]]


@settings(max_examples=300)
@given(st.sampled_from(paths(VALID)), JSON_VALUES)
def test_any_value_in_any_place_is_read_or_refused_in_one_line(path: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(VALID)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    read(json.dumps(changed))


@given(st.sampled_from(paths(VALID)))
def test_any_part_may_be_missing_and_is_then_named_or_not_needed(path: tuple[Any, ...]) -> None:
    changed = copy.deepcopy(VALID)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    read(json.dumps(changed))


@given(st.text(max_size=200) | st.integers(0, 20_000).map(lambda depth: "[" * depth))
def test_any_text_is_refused_in_one_line(text: str) -> None:
    read(text)


def test_other_axes_than_those_of_the_traffic_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(VALID))
    with pytest.raises(TunerError, match=r"profiles have the axes \['batch', 'seq'\], the traffic \['n'\]"):
        read_deployed(tmp_path / "p.json", ("n",))


def test_a_size_beyond_every_dimension_is_refused() -> None:
    changed = copy.deepcopy(VALID)
    changed["last_search"]["cells"][0][0] = 2.0**63

    with pytest.raises(TunerError, match="a size has values up to 2147483647"):
        deployed_of(parse_json(json.dumps(changed), "profile.json"), ("seq", "batch"))
