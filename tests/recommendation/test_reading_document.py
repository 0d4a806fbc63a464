"""Documents read back: typed, of every version, and every hand edit that breaks one is named."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.export.written_documents import THREE, as_json, encoder, one, write
from tuner.axes import Size
from tuner.errors import TunerError
from tuner.recommendation.checked_document import check_schema, read_document, read_whole
from tuner.recommendation.document import schema
from tuner.recommendation.json_place import Place
from tuner.recommendation.reading_document import document_at, load, upgraded

FIRST_VERSION = Path(__file__).with_name("profile_v1.json")
TABLE = {Size.of(batch=1, seq=16): 0, Size.of(batch=64, seq=128): 1}

Document = dict[str, Any]


def written() -> Document:
    return as_json(encoder(), THREE, table=TABLE, alternatives={"profile_zero": THREE[2:]})


def edited(tmp_path: Path, edit: Callable[[Document], object]) -> Path:
    document = copy.deepcopy(written())
    edit(document)
    return write(tmp_path / "profile.json", document)


def test_a_document_is_read_as_typed_objects(tmp_path: Path) -> None:
    document = load(write(tmp_path / "profile.json", written()))
    assert tuple(document.profile_set) == THREE
    assert dict(document.table) == TABLE
    assert document.profiles[1].tensors == THREE[1].tensor_ranges(encoder())
    assert tuple(document.alternatives["profile_zero"]) == THREE[2:]
    assert (document.policy, document.decision, document.tensorrt) == ("best", "change", "10.3.0")
    assert document.model is not None
    assert document.model.batch_axis == "batch"


def test_the_documents_of_these_tests_follow_the_schema() -> None:
    check_schema(Place(written(), "profile.json"))


def test_a_document_of_the_first_version_still_reads_although_it_lacks_later_keys() -> None:
    document = read_document(FIRST_VERSION)
    assert document.model is None
    assert len(document.profiles) == 2


def _kept(older: Any, whole: Any) -> bool:
    """True where everything of the older value stands in the whole one, and all else there is null."""
    if isinstance(older, dict):
        added = [whole[key] for key in whole if key not in older]
        return added == [None] * len(added) and all(_kept(older[key], whole[key]) for key in older)
    if isinstance(older, list):
        return len(older) == len(whole) and all(map(_kept, older, whole))
    return bool(older == whole)


def test_what_an_older_document_lacks_is_null_in_the_whole_of_it(tmp_path: Path) -> None:
    whole = read_whole(FIRST_VERSION)
    assert (whole["model"], whole["batcher"]) == (None, None)
    assert _kept(json.loads(FIRST_VERSION.read_text()), whole)
    jsonschema.validate(whole, schema())
    assert read_whole(write(tmp_path / "profile.json", whole)) == whole


def test_an_older_version_is_upgraded_step_by_step() -> None:
    old = Place({"schema_version": 1, "name": "x"}, "old.json")
    steps = {
        1: lambda d: {"schema_version": 2, "called": d["name"]},
        2: lambda d: {"schema_version": 3, "names": [d["called"]]},
    }
    assert upgraded(old, 3, steps).value == {"schema_version": 3, "names": ["x"]}


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = edited(tmp_path, lambda d: d.update(schema_version=9))
    with pytest.raises(TunerError, match="has schema version 9; this tuner reads up to 1"):
        load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is no JSON"),
        ('{"schema_version": 1, "profiles"', "is no JSON .* line 1, column"),
        ("[1, 2]", "holds no JSON object"),
        ('{"name": "foreign"}', "is no document of tuner .*no schema_version"),
        ('{"schema_version": "1"}', 'schema_version is "1"; a whole number'),
        ('{"schema_version": 1}', "lacks 'profiles'"),
        ('{"schema_version": 1, "schema_version": 1}', "names the key 'schema_version' twice"),
        ('{"schema_version": NaN}', "holds NaN"),
        ("[" * 100_000, "is no JSON that can be read"),
    ],
)
def test_a_damaged_or_foreign_file_is_one_problem(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content)
    with pytest.raises(TunerError, match=message):
        load(path)


def test_a_file_that_is_no_text_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(TunerError, match="is no JSON text"):
        load(path)


def test_a_missing_file_is_one_problem(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="cannot be read"):
        load(tmp_path / "absent.json")


def _set(*path: Any) -> Callable[[Document], None]:
    """Put the last item at the place that the others name."""
    *places, last, value = path

    def edit(document: Any) -> None:
        for place in places:
            document = document[place]
        document[last] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_set("profiles", 0, "opt", "batch", 99), r"profiles\[0\]: .*on axis batch: 1, 99, 4"),
        (_set("profiles", 0, "opt", "batch", -1), r"profiles\[0\].opt.batch is -1; a whole number from 0"),
        (_set("profiles", 0, "opt", "batch", 4.5), r"profiles\[0\].opt.batch is 4.5"),
        (_set("profiles", 0, "opt", "batch", 2**31), r"profiles\[0\].opt.batch is 2147483648"),
        (_set("profiles", 1, "index", 5), r"profiles\[1\].index is 5; this is profile 1"),
        (_set("profiles", 0, "min", {"batch": 1}), r"profiles\[0\]: size has the axes"),
        (_set("profiles", []), "profiles is .*; at least one profile"),
        (_set("routing", "policy", "random"), 'routing.policy is "random"; accepted are best'),
        (
            _set("routing", "table", 0, "profile", 3),
            r"routing.table\[0\].profile is 3; the profiles are 0 to 2",
        ),
        (_set("routing", "table", 0, "profile", 1), r"routing.table\[0\] .*profile 1 .* does not cover"),
        (
            _set("profiles", 0, "tensors", "input_ids", "max", [9, 64]),
            r"profiles\[0\].tensors.input_ids.max is \[9, 64\], but the model encoder gives \[4, 64\]",
        ),
        (
            _set("profiles", 0, "tensors", "input_ids", "opt", [64, 32]),
            r"profiles\[0\].tensors.input_ids: breaks min <= opt <= max in dimension 0: 1, 64, 4",
        ),
        (
            _set("profiles", 0, "tensors", "input_ids", "opt", [4]),
            "min, opt and max have 2, 1 and 2 dimensions",
        ),
        (_set("profiles", 0, "tensors", None), r"profiles\[1\].tensors has other inputs than profiles\[0\]"),
        (_set("model", "inputs", {"x": {"dtype": "int8", "shape": ["h"]}}), "but the model encoder has"),
        (_set("model", "inputs", {"x": {"dtype": "int8"}}), "model: cannot read the model"),
    ],
)
def test_a_hand_edit_that_breaks_the_document_is_named(
    tmp_path: Path, edit: Callable[[Document], object], message: str
) -> None:
    with pytest.raises(TunerError, match=message):
        load(edited(tmp_path, edit))


def test_a_profile_that_is_there_twice_is_named(tmp_path: Path) -> None:
    document = as_json(encoder(), [THREE[0], THREE[0]])
    with pytest.raises(TunerError, match=r"profiles\[1\] is the same as profiles\[0\]"):
        load(write(tmp_path / "profile.json", document))


def test_tensors_set_to_null_are_derived_from_the_sizes(tmp_path: Path) -> None:
    def edit(document: Document) -> None:
        for profile in document["profiles"]:
            profile["tensors"] = None
        document["profiles"][0]["max"]["batch"] = 8

    document = load(edited(tmp_path, edit))
    assert document.tensor_ranges[0]["input_ids"].max == (8, 64)


def test_axes_in_another_order_are_the_same_axes(tmp_path: Path) -> None:
    path = edited(tmp_path, _set("profiles", 1, "min", {"seq": 128, "batch": 32}))
    assert load(path).profiles[1].range == THREE[1]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_set("profiles", 0, "mni", 1), r"unknown key 'mni' in profiles\[0\]; did you mean 'min'"),
        (_set("extra", 1), "unknown key 'extra' in the document"),
        (_set("evidence", "gpuu", 1), "unknown key 'gpuu' in evidence; did you mean 'gpu'"),
        (_set("profiles", 0, "min", "batch", "1"), r"profiles\[0\].min.batch: '1' is not of type"),
    ],
)
def test_a_command_names_every_key_that_the_schema_lacks(
    tmp_path: Path, edit: Callable[[Document], object], message: str
) -> None:
    with pytest.raises(TunerError, match=message):
        read_document(edited(tmp_path, edit))


def test_all_unknown_keys_are_named_at_once(tmp_path: Path) -> None:
    def edit(document: Document) -> None:
        document["one"] = document["traffic"]["two"] = 1

    with pytest.raises(TunerError, match=r"unknown key 'two' in traffic.*unknown key 'one'"):
        read_document(edited(tmp_path, edit))


def test_a_document_by_rule_without_a_model_has_sizes_but_no_shapes(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.json", as_json(None, THREE[:1], tensorrt=None))
    document = read_document(path)
    assert document.tensorrt is None
    with pytest.raises(TunerError, match="shapes of its inputs are not known; give the model with --model"):
        _ = document.tensor_ranges
    assert read_document(path, encoder()).tensor_ranges[0]["input_ids"].opt == (4, 32)


def test_a_model_with_other_axes_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.json", as_json(None, [one((1,), (2,), (3,), ("h",))], tensorrt=None))
    with pytest.raises(
        TunerError, match=r"has the axes \['h'\], but the model encoder has \['batch', 'seq'\]"
    ):
        read_document(path, encoder())


_anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield (*path, key)
        yield from _places(member, (*path, key))


PLACES = list(_places(written()))


def _put(document: Any, path: tuple[Any, ...], value: Any) -> None:
    """Replace or remove what stands at a path, if earlier damage left the path there."""
    *places, last = path
    with suppress(KeyError, IndexError, TypeError):
        for place in places:
            document = document[place]
        document[last]
        if value == "remove":
            del document[last]
        else:
            document[last] = value


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.just("remove") | _anything), min_size=1, max_size=3))
def test_any_damage_is_read_whole_or_one_problem(damages: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = copy.deepcopy(written())
    for path, value in damages:
        _put(document, path, value)
    for read in (document_at, check_schema):
        with suppress(TunerError):
            read(upgraded(Place(document, "profile.json")))


def test_loading_needs_nothing_beside_the_standard_library(tmp_path: Path) -> None:
    path = write(tmp_path / "profile.json", written())
    code = (
        "import sys, tuner; document = tuner.load(sys.argv[1]); tuner.Router(document)(1, 16); "
        "print(sorted({m.split('.')[0] for m in sys.modules} - sys.stdlib_module_names))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(path)],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.stdout.strip() == "['__main__', 'tuner']"
