"""Makes the sample logs from stated distributions: `python make_samples.py` in this folder.

A day of an encoder server that pads sequences to buckets. Two regimes share it: interactive requests all
day long, with small batches and short sequences, and a bulk job of half an hour every three hours, with
large batches and long sequences. The same seed gives the same files.
"""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 7
DAY_START = pd.Timestamp("2026-01-15T00:00:00Z")
DAY_S = 86_400
BUCKETS = np.array([16, 32, 64, 128, 256, 384, 512])
INTERACTIVE_ROWS = 42_000
BULK_ROWS = 2_000
BULK_EVERY_S, BULK_LASTS_S = 3 * 3600, 1800
FOLDER = Path(__file__).parent


def padded(lengths: np.ndarray) -> np.ndarray:
    return BUCKETS[np.searchsorted(BUCKETS, np.clip(lengths, 1, BUCKETS[-1]))]


def interactive(random: np.random.Generator) -> pd.DataFrame:
    """Rate with a peak at 14:00; batches geometric with mean 2, at most 8; lengths log-normal, median 45."""
    hours = random.uniform(0, 24, 4 * INTERACTIVE_ROWS)
    keep = random.uniform(0, 1, len(hours)) < 0.25 + 0.75 * np.exp(-(((hours - 14) / 5) ** 2))
    seconds = np.sort(hours[keep][:INTERACTIVE_ROWS] * 3600)
    batch = np.minimum(random.geometric(0.5, len(seconds)), 8)
    return pd.DataFrame(
        {"s": seconds, "batch": batch, "seq": padded(random.lognormal(3.8, 0.7, len(seconds)))}
    )


def bulk(random: np.random.Generator) -> pd.DataFrame:
    """Batches of 64, one in five cut short; lengths log-normal, median 180."""
    starts = random.integers(0, DAY_S // BULK_EVERY_S, BULK_ROWS) * BULK_EVERY_S
    seconds = starts + random.uniform(0, BULK_LASTS_S, BULK_ROWS)
    batch = np.where(random.uniform(0, 1, BULK_ROWS) < 0.8, 64, random.integers(8, 64, BULK_ROWS))
    return pd.DataFrame({"s": seconds, "batch": batch, "seq": padded(random.lognormal(5.2, 0.6, BULK_ROWS))})


def day() -> pd.DataFrame:
    random = np.random.default_rng(SEED)
    rows = pd.concat([interactive(random), bulk(random)]).sort_values("s", kind="stable")
    times = DAY_START + pd.to_timedelta((rows["s"] * 1000).astype("int64"), unit="ms")
    return pd.DataFrame(
        {
            "time": times.dt.as_unit("ms"),
            "batch_size": rows["batch"].to_numpy(np.int32),
            "seq_len": rows["seq"].to_numpy(np.int32),
        }
    )


def json_lines(rows: pd.DataFrame) -> str:
    texts = rows["time"].dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str[:-3] + "Z"
    lines = (
        json.dumps({"time": time, "request": {"batch_size": int(batch), "seq_len": int(seq)}})
        for time, batch, seq in zip(texts, rows["batch_size"], rows["seq_len"], strict=True)
    )
    return "\n".join(lines) + "\n"


def broken(rows: pd.DataFrame) -> str:
    """Three hundred good rows with one of every common fault between them."""
    good = json_lines(rows.head(300)).splitlines()
    faults = [
        '{"time": "2026-01-15T00:00:01Z", "request": {"batch_size": 1, "seq_len": null}}',
        '{"time": "2026-01-15T00:00:02Z", "request": {"batch_size": 1}}',
        '{"time": "2026-01-15T00:00:03Z", "request": {"batch_size": 1, "seq_len": "many"}}',
        '{"time": "2026-01-15T00:00:04Z", "request": {"batch_size": 1, "seq_len": NaN}}',
        '{"time": "2026-01-15T00:00:05Z", "request": {"batch_size": 1, "seq_len": 64.5}}',
        '{"time": "2026-01-15T00:00:06Z", "request": {"batch_size": 0, "seq_len": 64}}',
        '{"time": "2026-01-15T00:00:07Z", "request": {"batch_size": 1, "seq_len": 99999999999}}',
        '{"time": "not a time", "request": {"batch_size": 1, "seq_len": 64}}',
    ]
    for place, fault in enumerate(faults):
        good.insert(20 + 30 * place, fault)
    return "\n".join(good) + "\n"


def write_gzip(path: Path, text: str) -> None:
    """gzip without name and time in its header, so that the same rows give the same bytes."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as stream:
        stream.write(text.encode())
    path.write_bytes(raw.getvalue())


def main() -> None:
    rows = day()
    rows.to_parquet(FOLDER / "prod.parquet", compression="zstd", index=False)
    write_gzip(FOLDER / "prod.jsonl.gz", json_lines(rows))
    sizes = rows.groupby(["batch_size", "seq_len"]).size().rename("count").reset_index()
    sizes.to_csv(FOLDER / "histogram.csv", index=False)
    (FOLDER / "broken.jsonl").write_text(broken(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
