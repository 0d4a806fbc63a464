"""Tables in long form: what the user is told, and that doing it helps."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.logs.log_files import parquet, percentiles, read
from tuner.errors import TunerError


def long_log(folder: Path) -> Path:
    return parquet(
        folder / "long.parquet",
        {
            "client_id": [1, 1, 1, 1],
            "timestamp": [0, 0, 21600, 21600],
            "metric": ["image_tokens", "text_tokens", "image_tokens", "text_tokens"],
            "value": [400, 30, 1200, 90],
            "count": [3, 5, 1, 7],
        },
    )


def test_a_long_table_is_an_error_that_says_how_to_select_one_metric(tmp_path: Path) -> None:
    log = long_log(tmp_path)

    with pytest.raises(
        TunerError, match=r"'metric' seems to say what 'value' is.* where metric = "
    ) as caught:
        read(log)

    query = (
        str(caught.value).rpartition("SQL: ")[2].replace("logs", f"'{log}'").replace("...", "image_tokens")
    )
    one = tmp_path / "one.parquet"
    duckdb.sql(f"copy ({query}) to '{one}'")
    traffic = read(one)
    assert traffic.histogram.request_count == 4
    assert percentiles(traffic, "seq", 50, 100) == [400, 1200]


def test_rows_of_all_metrics_under_one_axis_are_told_of(tmp_path: Path) -> None:
    traffic = read(long_log(tmp_path), axes={"seq": "value"})

    assert any("'metric' seems to say what 'value' is" in note for note in traffic.notes)


def test_a_name_beside_a_value_that_is_no_axis_is_nothing_to_tell(tmp_path: Path) -> None:
    log = parquet(tmp_path / "a.parquet", {"seq": [1], "metric": ["latency"], "value": [3.5]})

    assert not any("seems to say" in note for note in read(log).notes)
