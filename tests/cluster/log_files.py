"""Log files of every form that several machines may share, with whatever a row can get wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


def write_lines(path: Path, rows: Sequence[Row | str]) -> Path:
    """A row that is a text stands as it is: a broken or a blank line."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines))
    return path


def write_parquet(path: Path, rows: Sequence[Row], group_rows: int) -> Path:
    table = pa.table(
        {
            "time": pa.array([row.get("time") for row in rows], pa.int64()),
            "batch": pa.array([row.get("batch") for row in rows], pa.int64()),
            "seq": pa.array([row.get("seq") for row in rows], pa.int64()),
        }
    )
    pq.write_table(table, path, row_group_size=group_rows)
    return path
