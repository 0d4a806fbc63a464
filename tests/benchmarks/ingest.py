"""Ingestion beside DuckDB and Polars: `python tests/benchmarks/ingest.py [--rows N] [--lines N]`.

Writes its own inputs (Parquet: timestamp, batch, seq and two other columns, in row groups of the size that
Arrow and that DuckDB write by default, and in no order of time; JSON Lines: the same columns), then lets each
engine, in a process of its own with two threads, go from the file to counts of each size and to the first and
last time, in turns. Prints medians of wall time, processor time, the peak memory and the ratio to the faster
of the two others; above 1 is faster. `duckdb, 15 min` answers what `tuner` answers: counts of each size in
each 15 minutes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

THREADS = 2
CHUNK_ROWS = 1_000_000
DUCKDB_GROUP_ROWS = 122_880
DAY_START_US = 1_714_521_600_000_000
DAY_US = 86_400_000_000

TUNER = """
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic
traffic = read_traffic(LogSettings(logs=(path,)), None)
answer = (len(traffic.histogram), traffic.histogram.request_count)
"""
DUCKDB_PARQUET = """
import duckdb
connection = duckdb.connect(config={"threads": threads})
rows = connection.sql(
    "select batch, seq, count(*), min(ts), max(ts) from read_parquet(?)"
    " where batch > 0 and seq > 0 group by all",
    params=[path],
).fetchall()
answer = (len(rows), sum(row[2] for row in rows))
"""
DUCKDB_JSON = DUCKDB_PARQUET.replace(
    "read_parquet(?)",
    "read_json(?, format='newline_delimited', columns={ts: 'TIMESTAMP', batch: 'BIGINT', seq: 'BIGINT'})",
)
DUCKDB_BUCKETS = DUCKDB_PARQUET.replace(
    """    "select batch, seq, count(*), min(ts), max(ts) from read_parquet(?)"
    " where batch > 0 and seq > 0 group by all",
""",
    """    "select batch, seq, sum(rows), min(first), max(last) from ("
    " select epoch_us(ts) // 900000000, batch, seq, count(*) as rows, min(ts) as first, max(ts) as last"
    " from read_parquet(?) where batch > 0 and seq > 0 group by all) group by all",
""",
)
POLARS_PARQUET = """
import polars
rows = (
    polars.scan_parquet(path)
    .filter((polars.col("batch") > 0) & (polars.col("seq") > 0))
    .group_by("batch", "seq")
    .agg(polars.len(), polars.col("ts").min().alias("first"), polars.col("ts").max().alias("last"))
    .collect(engine="streaming")
)
answer = (rows.height, int(rows["len"].sum()))
"""
POLARS_JSON = POLARS_PARQUET.replace(
    "scan_parquet(path)",
    "scan_ndjson(path, schema={'ts': polars.String, 'batch': polars.Int64, 'seq': polars.Int64})",
)
ON_PARQUET = {
    "tuner": TUNER,
    "duckdb": DUCKDB_PARQUET,
    "polars": POLARS_PARQUET,
    "duckdb, 15 min": DUCKDB_BUCKETS,
}
ON_LINES = {"tuner": TUNER, "duckdb": DUCKDB_JSON, "polars": POLARS_JSON}
# What is timed is reading and counting; importing an engine is not.
TIMED = """
import os, sys, time, json, resource
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
path, threads = sys.argv[1], int(sys.argv[2])
os.environ["POLARS_MAX_THREADS"] = str(threads)
import duckdb, polars, numpy, pandas, pyarrow, pyarrow.parquet, pyarrow.compute, pyarrow.json, pyarrow.csv
import tuner.traffic.reading
start, start_cpu = time.perf_counter(), time.process_time()
{engine}
seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps([seconds, cpu, peak, answer]))
"""


@dataclass(frozen=True)
class Run:
    """One engine on one file: seconds of wall and processor time, peak memory, sizes and rows found."""

    wall_s: float
    cpu_s: float
    peak_mb: int
    answer: tuple[int, int]


def columns(random: np.random.Generator, start: int, rows: int, total: int) -> dict[str, Any]:
    """A stretch of a day: log-normal lengths up to 512, batches up to 64."""
    times = DAY_START_US + (start + np.sort(random.uniform(0, rows, rows))) * (DAY_US / total)
    seq = np.clip(random.lognormal(4.5, 0.7, rows), 1, 512).astype(np.int32)
    return {
        "ts": times.astype(np.int64),
        "batch": random.choice(np.array([1, 2, 4, 8, 16, 32, 64], np.int32), rows),
        "seq": seq,
        "latency_ms": np.round(seq * 0.01 + random.exponential(1.0, rows), 3),
        "host": random.integers(0, 40, rows),
    }


def write_parquet(path: Path, total: int, group_rows: int = CHUNK_ROWS, *, is_in_order: bool = True) -> None:
    random = np.random.default_rng(1)
    hosts = pa.array([f"host-{n:02}" for n in range(40)])
    writer = None
    for start in range(0, total, CHUNK_ROWS):
        values = columns(random, start, min(CHUNK_ROWS, total - start), total)
        if not is_in_order:
            values["ts"] = DAY_START_US + random.integers(0, DAY_US, len(values["ts"]))
        values["ts"] = pa.array(values["ts"], pa.timestamp("us", "UTC"))
        values["host"] = hosts.take(pa.array(values["host"]))
        table = pa.table(values)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, group_rows)
    if writer is not None:
        writer.close()


def write_lines(path: Path, total: int) -> None:
    random = np.random.default_rng(2)
    with path.open("w", encoding="ascii") as stream:
        for start in range(0, total, CHUNK_ROWS):
            values = columns(random, start, min(CHUNK_ROWS, total - start), total)
            texts = np.datetime_as_string(np.asarray(values["ts"]).astype("datetime64[us]"), unit="us")
            rows = zip(texts, *(np.asarray(values[n]).tolist() for n in list(values)[1:]), strict=True)
            stream.writelines(
                f'{{"ts": "{ts}Z", "batch": {b}, "seq": {s}, "latency_ms": {ms}, "host": "host-{h:02}"}}\n'
                for ts, b, s, ms, h in rows
            )


def run(engine: str, path: Path) -> Run:
    code = TIMED.replace("{engine}", engine)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(THREADS)], check=True, capture_output=True, text=True
    )
    wall, cpu, peak, answer = json.loads(done.stdout.splitlines()[-1])
    return Run(wall, cpu, peak, tuple(answer))


def compare(title: str, engines: Mapping[str, str], path: Path, repeats: int) -> None:
    runs: dict[str, list[Run]] = {name: [] for name in engines}
    for _ in range(repeats):
        for name, engine in engines.items():
            runs[name].append(run(engine, path))
    answers = {tuple(r.answer) for found in runs.values() for r in found}
    if len(answers) != 1:
        raise SystemExit(f"{title}: the engines disagree: {answers}")
    print(f"\n{title}: {path.stat().st_size / 1e6:,.0f} MB, {answers.pop()[1]:,} rows, medians of {repeats}")
    print(f"{'engine':15}{'wall s':>10}{'cpu s':>10}{'peak MB':>10}{'rows/s':>16}")
    for name, found in runs.items():
        wall = statistics.median(r.wall_s for r in found)
        cpu = statistics.median(r.cpu_s for r in found)
        rate = found[0].answer[1] / wall
        print(f"{name:15}{wall:>10.2f}{cpu:>10.2f}{max(r.peak_mb for r in found):>10}{rate:>16,.0f}")
    for what in ("wall_s", "cpu_s"):
        medians = {name: statistics.median(getattr(r, what) for r in found) for name, found in runs.items()}
        fastest = min(medians["duckdb"], medians["polars"])
        print(f"{what}: tuner is {fastest / medians['tuner']:.2f} times as fast as the faster of the two")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000_000, help="rows of the Parquet file")
    parser.add_argument("--lines", type=int, default=5_000_000, help="lines of the JSON Lines file")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the inputs are kept; else made anew and removed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        write_small = partial(write_parquet, group_rows=DUCKDB_GROUP_ROWS)
        write_mixed = partial(write_parquet, is_in_order=False)
        small = "rows-in-small-groups.parquet"
        for title, engines, name, write, count in (
            ("parquet", ON_PARQUET, "rows.parquet", write_parquet, asked.rows),
            ("parquet, small row groups", ON_PARQUET, small, write_small, asked.rows),
            ("parquet, in no order", ON_PARQUET, "rows-in-no-order.parquet", write_mixed, asked.rows),
            ("json lines", ON_LINES, "rows.jsonl", write_lines, asked.lines),
        ):
            path = folder / f"{count}-{name}"
            if count and not path.exists():
                write(path, count)
            if count:
                compare(title, engines, path, asked.repeats)


if __name__ == "__main__":
    main()
