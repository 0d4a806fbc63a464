"""Fuzzes the readers of logs with coverage-guided damage of valid files; by hand, since it takes minutes.

    python -m pip install atheris
    python tests/benchmarks/fuzz_readers.py [--forms parquet,csv] [--seconds 60] [--out FOLDER]

Each form of file is damaged in a process of its own, which starts from valid files. Nothing but a TunerError
of one line may come out, within ten seconds; what is read has to add up, and to have as many rows as a count
of our own finds in the same bytes. The first file of each kind of finding is kept in the folder, by a name
that is a hash of what it shows; the exit code is 1 where there is any.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import hashlib
import io
import json
import re
import subprocess
import sys
import tempfile
import traceback
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

HANG_S = 10
ROWS = [
    {"ts": f"2024-05-01T00:00:{i:02}Z", "batch": i % 8 + 1, "seq": 3 * i + 1, "note": 'say "é", {a}'}
    for i in range(24)
]
PLAIN_ROWS = [{name: row[name] for name in ("ts", "batch", "seq")} for row in ROWS]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = ("ts,batch,seq\n" + "".join(f"{r['ts']},{r['batch']},{r['seq']}\n" for r in ROWS)).encode()
QUOTED = ("ts;batch;note;seq\n" + "".join(f'{r["ts"]};1;"two\nlines";{r["seq"]}\n' for r in ROWS)).encode()


def parquet_bytes(rows: list[dict[str, Any]], **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream, row_group_size=10, write_page_checksum=True, **options)
    return stream.getvalue()


def traffic_file_bytes() -> bytes:
    table = pa.Table.from_pylist([{"batch": r["batch"], "seq": r["seq"], "count": 3} for r in ROWS])
    starts = pa.array([i * 10**9 for i in range(len(ROWS))], pa.timestamp("us", "UTC"))
    about = {
        "tuner.traffic": "1",
        "tuner.rows_read": "74",
        "tuner.rejected": json.dumps({"missing": [2, "a.csv:row 1"]}),
        "tuner.span_us": "[0, 24]",
    }
    stream = io.BytesIO()
    pq.write_table(table.append_column("bucket_start", starts).replace_schema_metadata(about), stream)
    return stream.getvalue()


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def perf_analyzer_bytes() -> bytes:
    steps = [{"batch": {"shape": [1]}, "x": {"content": [1], "shape": [r["batch"], r["seq"]]}} for r in ROWS]
    return json.dumps({"data": [steps[0], steps[1:]]}).encode()


def triton_bytes() -> bytes:
    events: list[dict[str, Any]] = []
    for i, row in enumerate(ROWS):
        tensor = {"name": "x", "shape": f"{row['batch']},{row['seq']}"}
        events += [
            {"id": i, "model_name": "m", "model_version": 1},
            {"id": i, "timestamps": [{"name": "REQUEST_START", "ns": 10**15 + i}]},
            {"id": i, "activity": "TENSOR_QUEUE_INPUT", "tensor": tensor},
        ]
    return json.dumps(events).encode()


FORMS: dict[str, tuple[bytes, ...]] = {
    "parquet": (
        parquet_bytes(PLAIN_ROWS),
        parquet_bytes(ROWS, compression="zstd"),
        parquet_bytes([{"shape": [1, r["seq"]], "s": {"seq": r["seq"]}, "batch": 1.0} for r in ROWS]),
    ),
    "lines": (LINES, LINES.replace(b', "note"', b', "seq.x": {"a": [1]}, "note"')),
    "array": (json.dumps(ROWS).encode(), json.dumps(ROWS, indent=1).encode(), LINES.replace(b"\n", b" ")),
    "csv": (CSV, QUOTED, CSV.replace(b",", b"\t").replace(b"\n", b"\r\n")),
    "gzip": (gzip.compress(LINES, mtime=0), gzip.compress(CSV, mtime=0) * 2),
    "zstd": (zstd(LINES), zstd(CSV) * 2),
    "bz2": (bz2.compress(CSV), bz2.compress(LINES)),
    "traffic": (traffic_file_bytes(),),
    "perf_analyzer": (perf_analyzer_bytes(),),
    "triton": (triton_bytes(), b"\n".join(json.dumps(e).encode() for e in json.loads(triton_bytes()))),
    "any": (parquet_bytes(PLAIN_ROWS), LINES, CSV, json.dumps(ROWS).encode(), gzip.compress(LINES, mtime=0)),
}


class Finding(Exception):
    """What must not be."""


def plain_text(data: bytes) -> bytes | None:
    """The bytes behind a compression that Python knows; None where they cannot be had."""
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return None
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        return bz2.decompress(data) if data.startswith(b"BZh") else data
    except (OSError, EOFError, ValueError, zlib.error):
        return None


def rows_of_lines(data: bytes) -> int | None:
    return sum(1 for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip())


def rows_of_csv(data: bytes) -> int | None:
    """Where no value is quoted, a row is a line that is not empty; the first is the header."""
    if b'"' in data or b"\r" in data or b"\x00" in data:
        return None
    return sum(1 for line in data.split(b"\n") if line) - 1


def rows_of_json(data: bytes) -> int | None:
    try:
        found = json.loads(data.decode("utf-8-sig", errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    is_record_form = bool(found) and isinstance(found[0], dict) and "id" in found[0]
    return None if is_record_form else len(found)


def rows_of_parquet(data: bytes) -> int | None:
    try:
        return int(pq.read_table(io.BytesIO(data), page_checksum_verification=True).num_rows)
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return None


COUNTS: dict[str, Callable[[bytes], int | None]] = {
    "json lines": rows_of_lines,
    "json": rows_of_json,
    "csv": rows_of_csv,
    "parquet": rows_of_parquet,
}


def check(path: Path, data: bytes) -> None:
    """Raises Finding, or whatever escaped, where reading the file breaks a rule."""
    from tuner.errors import TunerError
    from tuner.logs.opening import open_log
    from tuner.logs.sources import find_sources
    from tuner.settings import LogSettings
    from tuner.traffic.reading import read_traffic
    from tuner.traffic.reading_arrivals import read_arrivals
    from tuner.traffic.traffic_file import is_traffic_file

    path.write_bytes(data)
    settings = LogSettings(logs=(str(path),))
    try:
        traffic = read_traffic(settings, None)
    except TunerError as error:
        if "\n" in str(error) or len(str(error)) > 4000:
            raise Finding("an error of more than one line, or of thousands of characters") from error
        return
    used, rejected = traffic.used_row_count, traffic.rejected_count
    if traffic.row_count != used + rejected + sum(traffic.skipped.values()):
        raise Finding("the account does not add up")
    if min(used, rejected, traffic.row_count) < 0:
        raise Finding("an account below zero")
    file = open_log(find_sources([str(path)]).sources[0])
    text = plain_text(data)
    if text is not None and not is_traffic_file(file.metadata):
        counted = COUNTS[file.form](text)
        if counted is not None and counted != traffic.row_count:
            raise Finding(f"{file.form}: rows are missing or too many")
    with contextlib.suppress(TunerError):
        read_arrivals(settings, None)


def fuzz(form: str, seconds: int, out: Path) -> None:
    """Runs until the time is over, and ends the process."""
    import atheris

    with atheris.instrument_imports(include=["tuner"]):
        import tuner.logs.opening
        import tuner.traffic.reading
        import tuner.traffic.reading_arrivals  # noqa: F401

    work = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    corpus = work / "corpus"
    corpus.mkdir()
    for i, data in enumerate(FORMS[form]):
        (corpus / str(i)).write_bytes(data)
    log = work / "log"

    def one(data: bytes) -> None:
        try:
            check(log, data)
        except Exception as error:  # every kind is written down, and the search goes on
            keep(error, form, data, out)

    longest = 2 * max(map(len, FORMS[form]))
    atheris.Setup(
        [
            *(sys.argv[0], str(corpus), f"-max_total_time={seconds}", f"-timeout={HANG_S}"),
            *(f"-max_len={longest}", "-rss_limit_mb=4096", f"-artifact_prefix={out}/{form}-", "-verbosity=1"),
        ],
        one,
    )
    atheris.Fuzz()


def keep(error: Exception, form: str, data: bytes, out: Path) -> None:
    """Write down the first file of a kind: the error's type and text without numbers, and where it arose."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tuner/" in f.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    what = f"{type(error).__name__} {where} {str(error)[:80] if isinstance(error, Finding) else ''}"
    name = out / f"{form}-{hashlib.sha256(what.encode()).hexdigest()[:12]}"
    if not name.exists():
        name.write_bytes(data)
        name.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))
        print(f"finding: {form}: {what} -> {name}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--seconds", type=int, default=60, help="for each form")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.one:
        fuzz(given.one, given.seconds, given.out.resolve())
    for form in given.forms.split(","):
        done = subprocess.run(
            [sys.executable, __file__, "--one", form, f"--seconds={given.seconds}", f"--out={given.out}"],
            capture_output=True,
            text=True,
            check=False,
        )
        told = done.stdout + done.stderr
        for line in re.findall(r"^(?:finding:|Done |SUMMARY:).*$", told, re.MULTILINE):
            print(f"{form}: {line}")
        if done.returncode:
            print(f"{form}: ended with {done.returncode}: {told[-600:]}")
    return 1 if any(given.out.iterdir()) else 0


if __name__ == "__main__":
    sys.exit(main())
