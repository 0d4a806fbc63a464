"""Makes one small log of every form: `python make_forms.py` in this folder.

All hold the same 200 requests: batches geometric with mean 2, at most 8; lengths log-normal with median 45,
padded to multiples of 16; one request a minute. The same seed gives the same files.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 11
START = pd.Timestamp("2026-01-15T00:00:00Z")
ROW_COUNT = 200
FOLDER = Path(__file__).parent
BOUNDS = (32, 64, 128, 256, 512)


def requests() -> pd.DataFrame:
    random = np.random.default_rng(SEED)
    lengths = np.clip(random.lognormal(3.8, 0.7, ROW_COUNT), 1, 512)
    return pd.DataFrame(
        {
            "time": START + pd.to_timedelta(np.arange(ROW_COUNT), unit="min"),
            "batch": np.minimum(random.geometric(0.5, ROW_COUNT), 8),
            "seq": (np.ceil(lengths / 16) * 16).astype(int),
        }
    )


def rows_of(frame: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {"time": time.isoformat(), "batch": int(batch), "seq": int(seq)}
        for time, batch, seq in frame.itertuples(index=False)
    ]


def cumulative(frame: pd.DataFrame) -> str:
    """Prometheus buckets: each includes all smaller ones."""
    totals = [(str(bound), int((frame["seq"] <= bound).sum())) for bound in BOUNDS]
    return "le,count\n" + "".join(f"{le},{n}\n" for le, n in [*totals, ("+Inf", len(frame))])


def counters(frame: pd.DataFrame) -> str:
    """A counter for each size at two times; requests are what it grew by."""
    before = frame.head(ROW_COUNT // 2).groupby(["batch", "seq"]).size()
    after = frame.groupby(["batch", "seq"]).size()
    text = "time,batch,seq,count\n"
    for moment, counts in ((START, before), (START + pd.Timedelta(hours=4), after)):
        text += "".join(f"{moment.isoformat()},{b},{s},{n}\n" for (b, s), n in counts.items())
    return text


def triton_trace(rows: list[dict[str, object]]) -> str:
    events: list[dict[str, object]] = []
    for number, row in enumerate(rows, 1):
        shape = f"{row['batch']},{row['seq']}"
        events.append({"id": number, "model_name": "encoder", "model_version": 1})
        events.append(
            {"id": number, "timestamps": [{"name": "REQUEST_START", "ns": number * 60_000_000_000}]}
        )
        tensor = {"name": "input_ids", "data": "", "shape": shape, "dtype": "INT64"}
        events.append({"id": number, "activity": "TENSOR_QUEUE_INPUT", "tensor": tensor})
    return json.dumps(events)


def perf_analyzer(rows: list[dict[str, object]]) -> str:
    return json.dumps({"data": [{"input_ids": {"content": [0], "shape": [row["seq"]]}} for row in rows]})


def mooncake(rows: list[dict[str, object]]) -> str:
    lines = (
        {"timestamp": 60_000 * i, "input_length": row["seq"], "output_length": 1, "hash_ids": [0]}
        for i, row in enumerate(rows)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


def write_parquet_forms(frame: pd.DataFrame) -> None:
    shapes = pa.array([[int(b), int(s)] for b, s in zip(frame["batch"], frame["seq"], strict=True)])
    times = pa.array(frame["time"])
    pq.write_table(pa.table({"time": times, "shape": shapes}), FOLDER / "shapes.parquet")
    for batch, part in frame.groupby("batch"):
        folder = FOLDER / "by_batch" / f"batch={batch}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(
            pa.table({"time": pa.array(part["time"]), "seq": pa.array(part["seq"])}), folder / "a.parquet"
        )


def main() -> None:
    frame = requests()
    rows = rows_of(frame)
    texts = {
        "requests.csv": frame.to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%SZ"),
        "array.json": json.dumps(rows, indent=1),
        "values.json": "\n".join(json.dumps(row, indent=1) for row in rows),
        "shape_texts.jsonl": "".join(json.dumps({"shape": f"{r['batch']}x{r['seq']}"}) + "\n" for r in rows),
        "cumulative.csv": cumulative(frame),
        "counters.csv": counters(frame),
        "triton_trace.json": triton_trace(rows),
        "perf_analyzer.json": perf_analyzer(rows),
        "mooncake.jsonl": mooncake(rows),
    }
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (FOLDER / "requests.jsonl.zst").write_bytes(pa.compress(lines, codec="zstd", asbytes=True))
    write_parquet_forms(frame)


if __name__ == "__main__":
    main()
