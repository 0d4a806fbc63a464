"""Log files that tests write for themselves, and how they read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tuner.model import Model
from tuner.settings import LogSettings
from tuner.traffic.reading import read_traffic
from tuner.traffic.traffic import Traffic


def lines(path: Path, rows: Iterable[Any]) -> Path:
    """JSON Lines; a text is written as it stands, so that a line may be broken."""
    texts = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def parquet(path: Path, columns: Mapping[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), path, **options)
    return path


def csv(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(*logs: str | Path, model: Model | None = None, **settings: Any) -> Traffic:
    return read_traffic(LogSettings(logs=tuple(map(str, logs)), **settings), model)


def rejected(traffic: Traffic) -> dict[str, int]:
    return {reason: rejection.count for reason, rejection in traffic.rejections.items()}


def percentiles(traffic: Traffic, axis: str, *percents: float) -> list[int]:
    return traffic.histogram.percentiles(axis, percents)
