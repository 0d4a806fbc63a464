"""The SQL that makes a traffic file in a warehouse, run here in DuckDB."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.logs.log_files import read

ROOT = Path(__file__).parents[2]
SQL = ROOT / "sample_logs" / "histogram_duckdb.sql"


def test_the_sql_gives_the_traffic_that_the_logs_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    prod = ROOT / "sample_logs" / "prod.parquet"
    (tmp_path / "prod.parquet").write_bytes(prod.read_bytes())
    monkeypatch.chdir(tmp_path)

    with duckdb.connect() as connection:
        connection.execute(SQL.read_text())

    from_warehouse, from_logs = read("traffic.parquet"), read(prod)
    assert from_warehouse.histogram == from_logs.histogram
    assert from_warehouse.holdout_by == "time"


def test_the_readme_shows_this_sql() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8") if (ROOT / "README.md").is_file() else ""
    if SQL.name not in readme:
        pytest.skip("the README does not speak of it yet")

    shown = [" ".join(block.split()) for block in re.findall(r"```sql\n(.*?)```", readme, re.DOTALL)]

    assert " ".join(SQL.read_text().partition("\n")[2].split()) in shown
