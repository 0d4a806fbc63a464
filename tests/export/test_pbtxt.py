"""Protobuf text as spans: every way of writing a field is read, and an edit touches nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.export.consumer_parsers import triton_config
from tuner.errors import TunerError
from tuner.export.pbtxt import applied, field_edits, parse, quoted, unquoted

WAYS = (
    "instance_group [ { count: 1 }, { count: 2 } ]",
    "instance_group: [ { count: 1 }, { count: 2 } ]",
    "instance_group { count: 1 } instance_group: { count: 2 }",
    "instance_group < count: 1; >, instance_group < count: 2 >",
    'instance_group {\n  # {}[]"\n  count: 1\n}\ninstance_group{count:2}',
)


def edited(text: str, name: str, new: str | None) -> str:
    return applied(text, field_edits(text, parse(text, "config.pbtxt"), name, new))


@pytest.mark.parametrize("text", WAYS)
def test_messages_are_found_however_they_are_written(text: str) -> None:
    groups = parse(text, "config.pbtxt").messages("instance_group")
    assert [group.named("count")[0].scalars for group in groups] == [("1",), ("2",)]


@pytest.mark.parametrize("text", WAYS)
def test_a_field_is_put_into_every_message(text: str) -> None:
    groups = parse(text, "config.pbtxt").messages("instance_group")
    new = applied(text, [e for g in groups for e in field_edits(text, g, "profile", 'profile: [ "0", "1" ]')])
    assert [list(g.profile) for g in triton_config(new).instance_group] == [["0", "1"]] * 2
    assert [g.count for g in triton_config(new).instance_group] == [1, 2]


def test_a_repeated_field_becomes_one() -> None:
    text = 'a: "x" preferred: 1, preferred: [2, 3]; preferred: 4, b: 1'
    new = edited(text, "preferred", "preferred: [ 8 ]")
    assert " ".join(new.split()) == 'a: "x" preferred: [ 8 ], b: 1'


def test_a_field_is_removed_with_its_separator() -> None:
    assert " ".join(edited("a: 1, b: 2, c: 3", "b", None).split()) == "a: 1, c: 3"


def test_a_field_is_added_on_a_line_of_its_own_where_the_message_has_lines() -> None:
    text = "dynamic_batching {\n  max_queue_delay_microseconds: 5  # measured\n}\n"
    (message,) = parse(text, "c").messages("dynamic_batching")
    new = applied(text, field_edits(text, message, "preferred_batch_size", "preferred_batch_size: [ 8 ]"))
    assert new == (
        "dynamic_batching {\n  max_queue_delay_microseconds: 5  # measured\n"
        "  preferred_batch_size: [ 8 ]\n}\n"
    )


def test_adjacent_strings_are_one_value() -> None:
    (field,) = parse('name: "a" "b"', "c").fields
    assert field.scalars == ('"a" "b"',)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {", "line 2: 'the end' stands where a field is due"),
        ("a", "line 1: field 'a' has no value"),
        ("a: [1 2]", "'2' stands where , is due"),
        ("a: }", "'}' stands where a value is due"),
        ('a: "open', "is not expected"),
        ("}", "'}' stands where a field is due"),
        ("a {" * 100, "nests deeper than 64"),
    ],
)
def test_what_is_no_protobuf_text_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(TunerError, match=message):
        parse(text, "config.pbtxt")


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=20))
def test_a_string_survives_quoting(text: str) -> None:
    assert triton_config(f"name: {quoted(text)}").name == text


def test_unquoting_undoes_the_escapes_that_quoting_makes() -> None:
    for text in ('a"b', "a\\b", "a\nb", "größe", "a\tb"):
        assert unquoted(quoted(text)) == text
