"""The compact protocol: what is written is found again, and bytes that are none are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.logs.thrift_compact import (
    BINARY,
    I64,
    LIST,
    STRUCT,
    Compact,
    binary_of,
    list_of_structs,
    struct_of,
    whole_of,
)

wholes = st.integers(-(2**63), 2**63 - 1)
values = st.one_of(st.tuples(st.just(I64), wholes), st.tuples(st.just(BINARY), st.binary(max_size=300)))
structs = st.lists(st.tuples(st.integers(1, 15), values), max_size=5).map(
    lambda fields: [(sum(step for step, _ in fields[: i + 1]), *value) for i, (_, value) in enumerate(fields)]
)


def written(fields: list[tuple[int, int, int | bytes]]) -> bytes:
    return struct_of(
        [(n, kind, whole_of(v) if isinstance(v, int) else binary_of(v)) for n, kind, v in fields]
    )


def read(reader: Compact) -> list[tuple[int, int, int | bytes]]:
    return [
        (number, kind, reader.whole() if kind == I64 else reader.binary()) for number, kind in reader.fields()
    ]


@given(structs)
def test_a_struct_is_read_as_it_was_written(fields: list[tuple[int, int, int | bytes]]) -> None:
    reader = Compact(written(fields))
    assert read(reader) == fields
    assert reader.at == len(reader.data)


@given(st.lists(structs, max_size=14), wholes)
def test_skipping_goes_behind_a_value(inner: list[list[tuple[int, int, int | bytes]]], last: int) -> None:
    everything = list_of_structs([written(fields) for fields in inner])
    reader = Compact(struct_of([(1, LIST, everything), (2, STRUCT, b"\0"), (3, I64, whole_of(last))]))
    found = {number: reader.raw(kind) for number, kind in reader.fields()}
    assert found == {1: everything, 2: b"\0", 3: whole_of(last)}


@given(st.lists(structs, min_size=1, max_size=14))
def test_a_list_tells_its_length(inner: list[list[tuple[int, int, int | bytes]]]) -> None:
    reader = Compact(list_of_structs([written(fields) for fields in inner]))
    assert [read(reader) for _ in range(reader.list_length())] == inner


def followed(data: bytes) -> None:
    reader = Compact(data)
    for _, kind in reader.fields():
        if kind == I64:
            reader.whole()
        else:
            reader.skip(kind)


@pytest.mark.parametrize("data", [b"", b"\x16", b"\x16\x80", b"\x16" + b"\xff" * 11, b"\x1e\x00"])
def test_bytes_that_are_no_struct_are_told(data: bytes) -> None:
    with pytest.raises((IndexError, ValueError)):
        followed(data)
