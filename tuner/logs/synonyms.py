"""Well-known column names, by what they mean. A name is compared without case, `_`, `-`, `.` and spaces."""

from __future__ import annotations

import re

BATCH = (
    "batch", "batch_size", "bs", "n", "batchsize", "num_sequences", "num_requests_in_batch", "rows",
    "inference_batch",
)  # fmt: skip
SEQUENCE = (
    "seq", "seq_len", "sequence", "sequence_length", "seqlen", "seq_length", "length", "len",
    "tokens", "num_tokens", "token_count", "n_tokens", "input_length", "input_len", "input_tokens",
    "input_token_count", "prompt_tokens", "prompt_length", "prompt_len", "num_prompt_tokens",
    "context_tokens", "context_length", "num_input_tokens", "isl",
)  # fmt: skip
HEIGHT = ("h", "height", "image_height", "image_h", "img_h", "rows_px")
WIDTH = ("w", "width", "image_width", "image_w", "img_w")
PAST = (
    "past", "past_len", "past_length", "past_seq_len", "past_sequence_length", "kv_len",
    "cache_len",
)  # fmt: skip
TOTAL = ("total", "total_len", "total_length", "total_sequence_length", "attention_length")

AXIS_GROUPS = {
    "batch": BATCH,
    "seq": SEQUENCE,
    "height": HEIGHT,
    "width": WIDTH,
    "past": PAST,
    "total": TOTAL,
}
"""The name an axis gets where no model names it, with the columns that are it."""

COUNT = (
    "count", "cnt", "request_count", "requests", "num_requests", "n_requests", "weight", "freq",
    "frequency", "hits", "occurrences",
)  # fmt: skip
TIME = (
    "timestamp", "time", "ts", "datetime", "@timestamp", "arrival", "arrival_time", "arrived_at",
    "arrival_timestamp", "created_at", "start_time", "request_time", "event_time", "timestamp_ms",
    "timestamp_us", "timestamp_ns", "time_ms", "ts_ms", "bucket_start",
)  # fmt: skip
DATE = ("date", "event_date", "log_date")
BOUND = ("le",)
SHAPE = ("shape", "input_shape", "shapes", "input_shapes", "dims")

_IGNORED = re.compile(r"[\s_.\-]")


def plain(name: str) -> str:
    return _IGNORED.sub("", name).lower()


def group_of(name: str) -> tuple[str, ...]:
    """The names that mean the same as this one; only itself where it is in no group."""
    wanted = plain(name)
    for names in AXIS_GROUPS.values():
        if wanted in {plain(n) for n in names}:
            return names
    return (name,)


def is_named(column: str, names: tuple[str, ...]) -> bool:
    """Whether the column, or its last key, has one of the names."""
    known = {plain(name) for name in names}
    return plain(column) in known or plain(column.rpartition(".")[2]) in known


def unit_in(column: str | None) -> str | None:
    """The unit of times that a name like `arrival_ms` states."""
    ending = (column or "").lower().rpartition("_")
    return ending[2] if ending[0] and ending[2] in ("ms", "us", "ns") else None
