"""Reads protobuf text as spans and edits single fields, so that comments and all other fields stay as is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tuner.errors import TunerError

_TOKEN = re.compile(
    r"(?P<space>\s+|\#[^\n]*)|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<sign>[{}<>\[\]:,;])|(?P<word>[^\s{}<>\[\]:,;\"'#]+)",
    re.DOTALL,
)
_CLOSING = {"{": "}", "<": ">", "[": "]"}
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Message:
    """The inside of a message: the span between its braces and its fields in order."""

    start: int
    end: int
    fields: tuple[Field, ...]

    def named(self, name: str) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.name == name)

    def messages(self, name: str) -> tuple[Message, ...]:
        """The messages of a repeated or single message field, however they are written."""
        return tuple(message for field in self.named(name) for message in field.messages)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its span, the texts of its scalar values and its messages, with their nested fields."""

    name: str
    start: int
    end: int
    scalars: tuple[str, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from start to end."""

    start: int
    end: int
    text: str


def parse(text: str, name: str) -> Message:
    """The whole text as a message; TunerError, with the line, for what is no protobuf text."""
    return _Reader(text, name).message(None, 0)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits; they must not overlap."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def field_edits(text: str, message: Message, name: str, new: str | None) -> Iterator[Edit]:
    """Put `new` (a whole field) in place of every field of that name, or in front of the message's end.

    With None the fields are removed.
    """
    existing = message.named(name)
    if new is None:
        yield from (_removal(text, field) for field in existing)
    elif not existing:
        yield _insertion(text, message, new)
    else:
        yield Edit(existing[0].start, existing[0].end, new)
        yield from (_removal(text, field) for field in existing[1:])


def _removal(text: str, field: Field) -> Edit:
    """Takes the separator behind the field along: a lone one is no protobuf text."""
    separator = re.compile(r"\s*[,;]").match(text, field.end)
    return Edit(field.start, separator.end() if separator else field.end, "")


def _insertion(text: str, message: Message, new: str) -> Edit:
    line = text.rfind("\n", 0, message.end) + 1
    before = text[line : message.end]
    if line <= message.start or before.strip():
        return Edit(message.end, message.end, f" {new} ")
    indent = before + "  "
    return Edit(line, line, f"{indent}{new}\n")


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.position = 0
        self.last_end = 0

    def wrong(self, why: str) -> TunerError:
        line = self.text.count("\n", 0, self.position) + 1
        return TunerError(f"{self.name}: is no protobuf text at line {line}: {why}")

    def peek(self) -> tuple[str, str]:
        """Kind and text of the next token that is no blank and no comment; empty at the end."""
        while self.position < len(self.text):
            found = _TOKEN.match(self.text, self.position)
            if found is None:
                raise self.wrong(f"{self.text[self.position : self.position + 10]!r} is not expected")
            if found.lastgroup != "space":
                return str(found.lastgroup), found.group()
            self.position = found.end()
        return "", ""

    def take(self, *expected: str) -> str:
        kind, token = self.peek()
        if not kind or (expected and token not in expected):
            raise self.wrong(f"{token or 'the end'!r} stands where {' or '.join(expected) or 'more'} is due")
        self.position += len(token)
        self.last_end = self.position
        return token

    def message(self, closing: str | None, depth: int) -> Message:
        if depth > _DEEPEST:
            raise self.wrong(f"it nests deeper than {_DEEPEST}")
        start = self.position
        fields: list[Field] = []
        while True:
            kind, token = self.peek()
            if closing is None and not kind:
                return Message(start, len(self.text), tuple(fields))
            if closing is not None and token == closing:
                end = self.position
                self.take()
                return Message(start, end, tuple(fields))
            if token in (",", ";"):
                self.take()
                continue
            fields.append(self.field(depth))

    def field(self, depth: int) -> Field:
        kind, token = self.peek()
        start = self.position
        if token == "[":  # the name of an extension
            while self.take() != "]":
                pass
        elif kind != "word":
            raise self.wrong(f"{token or 'the end'!r} stands where a field is due")
        else:
            self.take()
        name = self.text[start : self.position]
        if self.peek()[1] == ":":
            self.take()
        elif self.peek()[1] not in _CLOSING:
            raise self.wrong(f"field '{name}' has no value")
        scalars, messages = self.value(depth, in_list=False)
        return Field(name, start, self.last_end, scalars, messages)

    def value(self, depth: int, *, in_list: bool) -> tuple[tuple[str, ...], tuple[Message, ...]]:
        kind, token = self.peek()
        if token in ("{", "<"):
            self.take()
            return (), (self.message(_CLOSING[token], depth + 1),)
        if token == "[" and not in_list:
            self.take()
            return self.members(depth)
        if kind == "word":
            return (self.take(),), ()
        if kind != "string":
            raise self.wrong(f"{token or 'the end'!r} stands where a value is due")
        parts = [self.take()]
        while self.peek()[0] == "string":
            parts.append(self.take())
        return (" ".join(parts),), ()

    def members(self, depth: int) -> tuple[tuple[str, ...], tuple[Message, ...]]:
        scalars: list[str] = []
        messages: list[Message] = []
        while self.peek()[1] != "]":
            one = self.value(depth, in_list=True)
            scalars.extend(one[0])
            messages.extend(one[1])
            if self.peek()[1] != "]":
                self.take(",")
        self.take("]")
        return tuple(scalars), tuple(messages)


def quoted(text: str) -> str:
    """A string of protobuf text; control characters as octal escapes."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c) or (f"\\{ord(c):03o}" if ord(c) < 32 else c) for c in text) + '"'


def unquoted(scalar: str) -> str:
    """The text of a plain quoted string; other escapes than ours are left as they stand."""
    inner = scalar[1:-1]
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), inner)
