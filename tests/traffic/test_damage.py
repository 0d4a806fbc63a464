"""Damage at the level of bytes: no traceback, no hang, never part of a file taken for the whole."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.logs.log_files import read
from tuner.errors import TunerError
from tuner.traffic.traffic import Traffic

ROW_COUNT = 300
ROWS = [
    {"ts": f"2024-05-01T00:{i // 60:02}:{i % 60:02}Z", "batch": i % 8 + 1, "seq": i + 1}
    for i in range(ROW_COUNT)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = ("ts,batch,seq\n" + "".join(f"{r['ts']},{r['batch']},{r['seq']}\n" for r in ROWS)).encode()


def parquet_bytes() -> bytes:
    stream = io.BytesIO()
    table = pa.table({name: [row[name] for row in ROWS] for name in ROWS[0]})
    pq.write_table(table, stream, row_group_size=100, write_page_checksum=True)
    return stream.getvalue()


FORMS = {
    "a.parquet": parquet_bytes(),
    "a.jsonl": LINES,
    "a.json": json.dumps(ROWS).encode(),
    "a.csv": CSV,
    "a.jsonl.gz": gzip.compress(LINES, mtime=0),
    "a.csv.zst": pa.compress(CSV, codec="zstd", asbytes=True),
}
QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


def damaged(data: bytes, seed: int) -> bytes:
    """Some bytes changed, cut out, put in or doubled, or the end cut off."""
    source = random.Random(seed)
    changed = bytearray(data)
    for _ in range(source.randint(1, 4)):
        at, length = source.randrange(len(changed)), source.randint(1, 40)
        match source.randrange(5):
            case 0:
                changed[at] ^= 1 << source.randrange(8)
            case 1:
                del changed[at : at + length]
            case 2:
                changed[at:at] = source.randbytes(length)
            case 3:
                changed[at:at] = changed[at : at + length]
            case _:
                del changed[max(1, at) :]
        if not changed:
            return b"\x00"
    return bytes(changed)


def outcome(log: Path) -> tuple[str, Traffic | None]:
    try:
        return "", read(log)
    except TunerError as error:
        return str(error), None


def account_adds_up(traffic: Traffic) -> bool:
    accounted = traffic.used_row_count + traffic.rejected_count + sum(traffic.skipped.values())
    return traffic.row_count == accounted and traffic.histogram.request_count == traffic.used_row_count


@pytest.mark.parametrize("name", FORMS)
@QUICK
@given(seed=st.integers(0, 2**32))
def test_damage_is_an_error_of_one_line_or_an_account_that_adds_up(
    tmp_path: Path, name: str, seed: int
) -> None:
    log = tmp_path / name
    log.write_bytes(damaged(FORMS[name], seed))

    message, traffic = outcome(log)

    assert "\n" not in message
    assert len(message) < 2000
    assert traffic is None or account_adds_up(traffic)


@pytest.mark.parametrize("name", ["a.parquet", "a.json", "a.jsonl.gz", "a.csv.zst"])
@QUICK
@given(share=st.floats(0.05, 0.995))
def test_a_cut_file_is_never_taken_for_the_whole(tmp_path: Path, name: str, share: float) -> None:
    log = tmp_path / name
    data = FORMS[name]
    log.write_bytes(data[: int(len(data) * share)])
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(LINES)

    with pytest.raises(TunerError, match=name):
        read(log)
    assert read(log, whole).histogram == read(whole).histogram
